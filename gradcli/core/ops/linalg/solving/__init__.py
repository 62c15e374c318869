"""Solutions of linear systems, exact and by least squares, and inverses."""
