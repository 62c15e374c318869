"""The graph of recorded operations: operation records, their nodes, in-place writes, views."""
