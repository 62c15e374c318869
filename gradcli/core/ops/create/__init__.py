"""Functions that make tensors: from data, from ranges, from random numbers."""
