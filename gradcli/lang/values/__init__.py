"""Values of any type: operators, subscripts, calls, `repr`, types, and the state of the program that runs."""
