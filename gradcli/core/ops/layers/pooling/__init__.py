"""Pooling: maxima, means and norms of windows, windows at random, and the inverse of max pooling."""
