"""Where things lie that tests reach for."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "tests" / "corpus"
HOST = ROOT / "tests" / "support" / "host.py"
"""A program that takes layers away from the host before it runs a command."""
