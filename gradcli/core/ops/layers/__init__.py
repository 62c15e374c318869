"""The functions behind neural network layers: convolution, pooling, normalisation, attention."""
