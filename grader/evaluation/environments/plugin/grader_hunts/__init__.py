"""The package by whose name verifiers finds the hunts: `vf-validate grader-hunts`."""

from grader.evaluation.environments.verifiers_tasks import HuntEnv, HuntTaskset

__all__ = ["HuntEnv", "HuntTaskset"]
