"""The backward pass: the walk over the graph, accumulation, hooks, saved tensors, anomaly detection, grad modes."""
