"""Activation functions, of torch.nn.functional and of torch."""
