"""torch.optim: the optimisers and learning rate schedulers."""
