"""Python's own types and functions, on host values: numbers, strings, containers, formatting, math."""
