"""Public functions of torch, and finding them by name."""
