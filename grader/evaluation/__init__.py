"""What teams that train or evaluate models use: hunts as data, answers, rewards, fresh hunts, the audit, exports."""
