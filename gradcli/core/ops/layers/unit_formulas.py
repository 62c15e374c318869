"""Formulas of linear steps: each is told by what it makes of unit images."""

from __future__ import annotations


def transpose_of(call: str, source: str, rank: int) -> str:
    """The transpose of a linear map of the last dimensions; `call` has {} for the argument, whose name is `source`."""
    units = f"eye(n, dtype=grad.dtype).reshape(n, 1, *{source}.shape[-{rank}:])"
    return (
        f"n = prod(tensor({source}.shape[-{rank}:])).item(); P = {call.format(units)}.flatten(1); "
        f"(grad.flatten(-{rank}) @ P.t()).reshape({source}.shape)"
    )
