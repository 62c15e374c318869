"""torch.nn: parameters, modules, initialisation and gradient clipping."""
