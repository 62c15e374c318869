"""Operations that change shapes, strides, dtypes or the order of elements: views, joining, splitting, copies."""
