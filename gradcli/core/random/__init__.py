"""PyTorch's random numbers: the generator, normal distribution, seeds."""
