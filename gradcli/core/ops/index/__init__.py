"""Operations that read or write elements by index: indexing, gather and scatter, sorting, counting."""
