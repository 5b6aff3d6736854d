"""The trusted side: it has the checks and the reference, sends inputs to the worker, and compares the replies."""
