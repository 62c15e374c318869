"""Recurrent networks, their cells, and sequences packed for them."""
