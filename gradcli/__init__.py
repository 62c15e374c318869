"""gradcli: PyTorch's gradients at the shell prompt, without PyTorch."""

__version__ = "0.1.0"
