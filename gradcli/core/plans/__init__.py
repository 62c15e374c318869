"""Plans: what is the same in every evaluation of an expression is decided once. `plan.py` tells how."""
