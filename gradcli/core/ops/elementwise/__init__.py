"""Operations on each element by itself: arithmetic, comparison, special functions, activations."""
