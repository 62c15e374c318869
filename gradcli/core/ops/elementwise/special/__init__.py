"""Functions of torch.special: gamma, zeta, Bessel and error functions, orthogonal polynomials."""
