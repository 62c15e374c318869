"""Sequences of different lengths, packed step by step: packing, padding, and a recurrent layer over them.

The packed data has the rows of all sequences at the first step, then those of the sequences that have a second one, and so on;
`sizes` are the numbers of sequences at each step. The operations and their order are those of PyTorch's PackedSequence.cpp and RNN.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.graph.namespaces import as_tensor
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.kernels import Array
from gradcli.core.ops.layers.linear import linear
from gradcli.core.ops.layers.lstm_layer import check_steps
from gradcli.core.ops.shape.joining import cat
from gradcli.core.ops.shape.slicing import narrow, select
from gradcli.core.ops.shape.transpose import transpose
from gradcli.core.ops.shape.views import view
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

State = tuple[Any, ...]


def _write(method: str, target: Tensor, values: Tensor) -> None:
    limits.evaluation.tick()
    catalog.method(method).method(target, (values,), {})


def _packed(input: Array, lengths: Sequence[int], batch_first: bool) -> tuple[Array, Array]:
    steps = input.swapaxes(0, 1) if batch_first else input
    sizes = (np.array(lengths) > np.arange(lengths[0])[:, None]).sum(1, dtype=np.int64)
    return np.concatenate([step[:size] for step, size in zip(steps, sizes, strict=False)]), sizes


def _unpacked(grad: Any, batch_sizes: Any, input_shape: Sequence[int], batch_first: bool) -> Any:
    grad, shape, at = as_tensor(grad), list(input_shape), 0
    if batch_first:
        shape[:2] = shape[1::-1]
    made = Tensor(np.zeros(shape, grad.array.dtype), grad.dtype)
    for step, size in zip(range(shape[0]), as_tensor(batch_sizes).array.tolist(), strict=False):
        _write("add_", narrow(select(made, 0, step), 0, 0, size), narrow(grad, 0, at, size))
        at += size
    return transpose(made, 0, 1) if batch_first else made


PACK = Op(
    "PackPaddedSequenceBackward0",
    _packed,
    "input",
    "lengths batch_first",
    outputs="data batch_sizes",
    on_tensors=True,
    complex=True,
    jvp=without_jvp("_pack_padded_sequence"),
    saved="batch_first input_sym_sizes result1=batch_sizes",
    input=Rule(
        lambda grad, batch_sizes, input_shape, batch_first: _unpacked(grad, batch_sizes, input_shape, batch_first),
        "pad_packed_sequence(PackedSequence(grad, batch_sizes), batch_first, 0, input.size(1 if batch_first else 0))[0]",
    ),
)


def pack(input: Tensor, of_each: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The packed data and the numbers of sequences at each step; RuntimeError for lengths, of each sequence, that do not fit."""
    if not input.array.size:
        raise runtime_error("Cannot pack empty tensors.")
    steps = transpose(input, 0, 1)
    batch = (input if batch_first else steps).array.shape[0]
    if of_each.array.ndim != 1:
        raise runtime_error(f"'lengths' argument should be a 1D CPU int64 tensor, but got {of_each.array.ndim}D cpu Long tensor")
    lengths: list[int] = of_each.array.tolist()
    if len(lengths) != batch:
        raise runtime_error(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})")
    if lengths[-1] <= 0:
        raise runtime_error("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if any(later > earlier for earlier, later in pairwise(lengths)):
        raise runtime_error(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` "
            "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    limits.check_elements(sum(lengths), input.dtype.itemsize)
    return PACK(input, lengths, batch_first)  # type: ignore[no-any-return]


def pad(data: Tensor, sizes: Sequence[int], padded: Tensor) -> None:
    """Write packed data into a tensor of (steps, batch, ...), which keeps its values where a sequence has ended."""
    step = at = 0
    for size, alike in groupby(sizes):
        count = len(list(alike))
        rows = view(narrow(data, 0, at, count * size), (count, size, *data.array.shape[1:]))
        _write("copy_", narrow(narrow(padded, 0, step, count), 1, 0, size), rows)
        step, at = step + count, at + count * size


def over_packed(
    step: Callable[[Any, State, Sequence[Any]], State], data: Any, sizes: Sequence[int], state: State, weights: Sequence[Any], reverse: bool
) -> tuple[Any, State]:
    """A recurrent layer in one direction: the packed outputs, and the last state of each sequence."""
    rows, inner = data.array.shape
    check_steps(len(sizes), sizes[0], weights[0].array.shape[0], inner + weights[1].array.shape[1])
    limits.check_elements(rows * weights[0].array.shape[0], data.dtype.itemsize)
    given = linear(data, weights[0], weights[2])
    starts = [0, *np.cumsum(sizes).tolist()]
    first, outs, ended = state, [], []
    have = sizes[0]
    if reverse:
        have = sizes[-1]
        state = _rows(first, 0, have)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        size = sizes[t]
        if size < have:
            ended.append(_rows(state, size, have))
            state = _rows(state, 0, size)
        elif size > have and reverse:
            state = _joined([state, _rows(first, have, size)])
        have = size
        state = step(narrow(given, 0, starts[t], size), state, weights)
        outs.append(state[0])
    return cat(outs[::-1] if reverse else outs, 0), state if reverse else _joined([state, *reversed(ended)])


def _rows(state: State, start: int, end: int) -> State:
    return tuple(narrow(part, 0, start, end - start) for part in state)


def _joined(states: Sequence[State]) -> State:
    return tuple(cat(parts, 0) for parts in zip(*states, strict=True))
