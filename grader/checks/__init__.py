"""The trusted side: it has the checks and the reference, sends inputs, and compares the values that come back."""
