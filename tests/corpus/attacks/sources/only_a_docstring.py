"""outcome: fixed, score: 10.0"""
