"""Pooling with random windows, and the inverse of max pooling."""
