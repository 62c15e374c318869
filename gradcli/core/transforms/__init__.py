"""Derivatives of functions: torch.func, torch.autograd.functional, forward mode, vmap, gradcheck."""
