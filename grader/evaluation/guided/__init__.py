"""Guided hunts for models: predict what a starter does, and locate its defects by claims about its values."""
