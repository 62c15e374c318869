"""Pooling with random windows, the inverse of max pooling, and the argument `return_indices` of both."""
