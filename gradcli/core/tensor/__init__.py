"""The tensor: its dtype, device, node of the graph, and its text."""
