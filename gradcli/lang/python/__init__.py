"""Python's own types and functions: numbers, strings, containers, formatting, math. Sizes are checked before results are made."""
