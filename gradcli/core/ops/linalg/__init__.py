"""Linear algebra: products, factorisations, solutions of linear systems."""
