"""PyTorch's names of what a node saves for backward, and where each value is found: what `grad_fn._saved_NAME` reads.

A record whose rules take what PyTorch's formulas take needs no more than its rules: their inputs, outputs and all plain arguments but for
a dtype are saved. Any other record lists PyTorch's names as `saved`, with `NAME=OWN` or `NAME=OWN[0]` for a value of another name here,
`NAME=1` for a constant, `NAME=?` for a value that is not computed here and `NAME=?!` for a tensor that is not, unless the record has a
function for it among those `computed`. PyTorch leaves out a tensor that only the derivative of one input takes, unless that one is wanted;
`NAME!` is saved always. `NAME>` is a result of PyTorch's, which it saves after the inputs.
`NAME_sym_sizes`, `NAME_sym_numel`, `NAME_dim`, `NAME_area`, `NAME_sym_argsize_0` and `NAME_sym_argsize_minus_1` are of the shape of an
argument or a result.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradcli.core.tensor.tensor import wrap
from gradcli.errors import InternalFault

if TYPE_CHECKING:
    from gradcli.core.graph.record import Op

#: the names of plain arguments that are arrays
DATA_NAMES = frozenset(
    {
        *("attn_mask", "condition", "index", "indices", "mask", "noise", "pivots", "pos_weight", "running_mean", "running_var"),
        *("given_mask", "target", "weight"),
    }
)


class Place(NamedTuple):
    """Where a saved value is found.

    `kind` is "input", "output", "attr" or "data", which is an attribute that may hold arrays, with the position; "constant" with the
    value; "computed" with a position behind the attributes; or "unknown". A `part` of the shape of an input or output is "sizes",
    "numel", "dim", "area" (the elements of a channel), or the number of a dimension; a `part` of an attribute is the number of an
    element.
    """

    kind: str
    at: Any
    part: str = ""
    always: bool = False
    #: whether PyTorch saves it after the inputs
    late: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether a tensor is saved itself, so that backward frees it."""
        return not self.part and self.kind in ("input", "output", "data", "computed")


def places(op: Op) -> dict[str, Place]:
    """PyTorch's names of what a node of `op` saves, in PyTorch's order where the record lists them."""
    if op.places is None:
        op.places = _derived(op) if op.saved is None else _listed(op, op.saved)
    return op.places


def _listed(op: Op, text: str) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for entry in text.split():
        name, _, own = entry.rstrip("!>").partition("=")
        place = _place(op, own or name)
        if place is None:
            raise InternalFault(f"{op.grad_fn}: nothing is saved as {entry}")
        if name in op.computed:
            place = Place("computed", len(op.attrs) + list(op.computed).index(name))
        late = place.kind in ("output", "computed") or entry.endswith(">")
        found[name] = place._replace(always=entry.endswith("!"), late=late)
    return found


_PART = re.compile(r"(\w+?)_(?:sym_(sizes|numel)|(dim|area)|sym_argsize_(minus_)?([0-9]+))")


def _place(op: Op, own: str) -> Place | None:
    if own in op.attrs:
        at = op.attrs.index(own)
        return Place("data" if own in DATA_NAMES else "attr", at)
    if own == "self" and "input" in op.tensors:
        own = "input"
    if own in op.tensors:
        return Place("input", op.tensors.index(own))
    if own in op.outputs:
        return Place("output", op.outputs.index(own))
    if own in ("out", "result"):
        return Place("output", 0)
    if own == "?":
        return Place("unknown", None)
    if own.endswith("]"):
        name, _, number = own[:-1].partition("[")
        return Place("attr", op.attrs.index(name), number)
    match = _PART.fullmatch(own)
    if match is not None:
        whole = _place(op, match[1])
        if whole is not None and whole.kind in ("input", "output"):
            number = match[5] and f"{'-' if match[4] else ''}{match[5]}"
            return whole._replace(part=match[2] or match[3] or number)
    if own in ("True", "False"):
        return Place("constant", own == "True")
    try:
        return Place("constant", float(own) if "." in own else int(own))
    except ValueError:
        return None


def _derived(op: Op) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for rule in op.rules.values():
        for name in () if rule is None else rule.parameters:
            base = name.removesuffix("_shape")
            shown = "self" if base == "input" else base
            if name in op.tensors:
                found[shown] = Place("input", op.tensors.index(name))
            elif name in op.outputs:
                found[name] = Place("output", op.outputs.index(name), late=True)
            elif name == "out":
                found["result"] = Place("output", 0, late=True)
            elif base != name and base in op.tensors:
                found[f"{shown}_sym_sizes"] = Place("input", op.tensors.index(base), "sizes")
    found.update((name, Place("data" if name in DATA_NAMES else "attr", i)) for i, name in enumerate(op.attrs) if name != "dtype")
    return found


def part_of(shape: tuple[int, ...], part: str) -> Any:
    """A part of a shape, as `Place` names it."""
    if part == "sizes":
        return shape
    if part in ("numel", "area"):
        return math.prod(shape[2:] if part == "area" else shape)
    return len(shape) if part == "dim" else shape[int(part)]


_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
#: integers whose bits PyTorch shows as an unsigned number, as it does of dimensions
_UNSIGNED = frozenset({"index", "ignore_index", "padding_idx", "offset", "shifts", "repeats", "pad", "padding", "start", "end", "diagonal"})


def shown_attr(name: str, value: object) -> Any:
    """A plain argument as `_saved_NAME` reads it: arrays as tensors; negative dimensions as unsigned numbers of 64 bits, as in PyTorch."""
    if isinstance(value, np.ndarray):
        return wrap(np.asarray(value))
    if isinstance(value, (tuple, list)):
        return tuple([shown_attr(name, v) for v in value])
    if isinstance(value, slice):
        return None  # a whole dimension of an index
    if name == "padding_idx" and value is None:
        return (1 << 64) - 1
    if name == "reduction" and isinstance(value, str):
        number = _REDUCTIONS.get(value)
        return int(value) % (1 << 64) if number is None else number
    if type(value) is int and value < 0 and (name.startswith("dim") or name in _UNSIGNED):
        return value + (1 << 64)
    if isinstance(value, np.generic):
        return value.item()
    return value
