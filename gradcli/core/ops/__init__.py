"""The operation families. Each module has a tuple FUNCTIONS of the public functions it declares."""
