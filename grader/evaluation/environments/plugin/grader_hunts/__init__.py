"""verifiers finds the hunts by the name of this package: `vf-validate grader-hunts`."""

from grader.evaluation.environments.verifiers_tasks import HuntEnv, HuntTaskset

__all__ = ["HuntEnv", "HuntTaskset"]
