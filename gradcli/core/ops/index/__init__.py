"""Operations that select or write elements by positions and masks: indexing, gather and scatter, sorting."""
