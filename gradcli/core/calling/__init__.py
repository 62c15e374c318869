"""Calls: PyTorch's signatures, overloads, argument errors and warnings, and the types of values that scripts see."""
