"""The operations, by families.

A module of a family is about one idea. It has the operation records of the idea, the implementations that check the arguments and
call the records, and the tuple FUNCTIONS of the public functions, whose declarations name signatures, implementations, records,
documentation and samples.

A record stands in the module of the function that it belongs to. A record that has no function of its own, or that a module
below that function's module needs, stands in the lowest module that needs it.
"""
