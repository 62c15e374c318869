"""The modules of torch.nn: layers, activations, losses, containers, and the base of those that only call a function."""
