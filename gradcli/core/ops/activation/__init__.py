"""Activation functions of torch.nn.functional, and those that torch has too."""
