"""torch.distributions: each distribution declares its parameters with their constraints, and its formulas."""
