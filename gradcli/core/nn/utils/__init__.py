"""torch.nn.utils: gradients clipped, parameters as one vector, parametrizations, weight norms, pruning."""
