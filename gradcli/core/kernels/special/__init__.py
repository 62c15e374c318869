"""Special functions on arrays."""
