"""Operations that change the shape of tensors or where elements stand: views, joining, slicing, copies."""
