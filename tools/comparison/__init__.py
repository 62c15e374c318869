"""Compares gradcli with an installed PyTorch, call by call: `tools/compare.py` is the command."""
