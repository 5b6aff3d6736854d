"""Examiner processes, pools of them, and sources of workers."""
