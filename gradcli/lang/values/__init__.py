"""The values of programs and what can be done with any of them: operators, subscripts, calls, text, types."""
