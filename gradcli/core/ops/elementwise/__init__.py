"""Operations on each element by itself: arithmetic, comparison, rounding, transcendental and special functions."""
