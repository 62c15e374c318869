"""Computations on arrays: arrays in, arrays out. Imports numpy and the limits alone."""
