"""matplotlib's pyplot: what programs draw is recorded here, and drawn by whoever runs them."""
