"""torch.save and torch.load: PyTorch's zip files, and the pickles in them, of plain values and tensors only."""
