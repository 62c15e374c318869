"""Plans of expressions, of assignments, of updates in place and of whole loops: which there may be, and running by them."""
