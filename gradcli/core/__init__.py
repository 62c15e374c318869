"""The numpy autograd core: tensors, graph, operations, generator, optimisers. Knows nothing of text, files or terminals."""
