"""Layers that give activations mean 0 and variance 1, or length 1."""
