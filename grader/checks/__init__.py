"""The trusted side: holds checks and reference, sends inputs, compares what returns."""
