# class CausalSelfAttention: nothing of it is there
# outcome: fixed, score: 10.0
