"""Modules of Python's standard library that programs may import. Each has its names in `MEMBERS` and is loaded by its import."""
