"""Products of matrices, vectors and batches, and sums of a tensor and a product."""
