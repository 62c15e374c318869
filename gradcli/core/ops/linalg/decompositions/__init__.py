"""Decompositions of matrices: LU, Cholesky, QR, eigenvalues, singular values."""
