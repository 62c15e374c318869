"""`torch.utils.data`: data sets, the orders in which they are read, and batches."""
