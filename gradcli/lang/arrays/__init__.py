"""numpy in the language: arrays, scalars, dtypes, random numbers, and a closed table of functions."""
