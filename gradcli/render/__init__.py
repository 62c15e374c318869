"""Results as text: pure functions, no computing, no input and output."""
