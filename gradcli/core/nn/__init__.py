"""torch.nn: parameters, modules as trees with hooks and state, initial values; the layers are in `modules`."""
