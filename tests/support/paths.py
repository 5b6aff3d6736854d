"""Paths that tests use."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORPUS = ROOT / "tests" / "corpus"
HOST = ROOT / "tests" / "support" / "host.py"
"""A program that runs a command on a host without some layers."""
