"""Functions that round as PyTorch's vector code, the C library and its complex arithmetic do."""
