"""Linear algebra: products, decompositions, solutions of linear systems; norms, powers, determinants, distances."""
