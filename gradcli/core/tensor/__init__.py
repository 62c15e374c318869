"""The tensor, its dtype and device, the nodes of the graph, the state of recording, and the text of tensors."""
