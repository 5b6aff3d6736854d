class CausalSelfAttention(:
    pass
