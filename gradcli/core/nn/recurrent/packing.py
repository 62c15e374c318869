"""`nn.utils.rnn`: sequences of different lengths, padded to one length or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.named_tuples import NamedTuple, named_tuple
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.ops.layers import packed_sequences
from gradcli.core.ops.list_function import check_tensors
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error


def _call(name: str, *args: Any) -> Any:
    limits.evaluation.tick()
    return catalog.function(name)(*args)


def _method(name: str, x: Tensor, *args: Any) -> Any:
    limits.evaluation.tick()
    return catalog.method(name).method(x, args, {})


def integers(values: Any) -> Tensor:
    """A tensor of int64."""
    return Tensor(np.array(values, np.int64), dtypes.int64)


def _inverse(order: Tensor | None) -> Tensor | None:
    """The permutation that undoes another."""
    return None if order is None else integers(np.argsort(np.asarray(order.array)))


def _packed(data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> tuple[object, ...]:
    if batch_sizes is None:
        if not isinstance(data, (list, tuple)) or len(data) != 2:
            raise ProgramError("AssertionError", "Expected data to be a list or tuple of length 2")
        data, batch_sizes = data
    return data, batch_sizes, sorted_indices, _inverse(sorted_indices) if unsorted_indices is None else unsorted_indices


PackedSequence = named_tuple("torch.nn.utils.rnn.PackedSequence", _packed, "data", "batch_sizes", "sorted_indices", "unsorted_indices")
PACKED_SEQUENCE = PackedSequence.SCRIPT_TYPE
#: methods that put what a method of the same name makes of the data in its place
_OF_DATA = ("to", "cpu", "float", "double", "half", "int", "long", "short", "char", "byte")


def _converter(name: str) -> Routine:
    def convert(packed: Any, *args: Any, **kwargs: Any) -> Any:
        limits.evaluation.tick()
        data = catalog.method(name).method(packed[0], args, kwargs)
        return packed if data is packed[0] else PackedSequence((data, *packed[1:]))

    return Routine(convert, f"PackedSequence.{name}")


setattr(PackedSequence, "SCRIPT_METHODS", {name: _converter(name) for name in _OF_DATA})  # noqa: B010
PackedSequence.SCRIPT_ATTRIBUTES["is_cuda"] = lambda packed: False


@Routine
def pad_sequence(sequences: Any, batch_first: Any = False, padding_value: Any = 0.0, padding_side: Any = "right") -> Tensor:
    """Tensors of different first sizes as one: `(longest, count, ...)`; with `batch_first` `(count, longest, ...)`."""
    if not isinstance(sequences, Iterable):
        kind = language.type_repr(sequences)
        raise runtime_error(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {kind}")
    given: list[Tensor] = list(_method("unbind", sequences) if type(sequences) is Tensor else sequences)
    check_tensors(given)
    if not given:
        raise runtime_error("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise runtime_error(f"Expected padding_side to be one of left or right, but got {formatted(padding_side)}.")
    longest, count = max(s.shape[0] for s in given), len(given)
    shape = (count, longest) if batch_first else (longest, count)
    out: Tensor = catalog.function("full")((*shape, *given[0].shape[1:]), padding_value, dtype=given[0].dtype)
    for i, sequence in enumerate(given):
        place = _method("select", out, 0 if batch_first else 1, i)
        start = longest - sequence.shape[0] if padding_side == "left" else 0
        _method("copy_", _method("narrow", place, 0, start, sequence.shape[0]), sequence)
    return out


@Routine
def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: Any = False) -> list[Tensor]:
    """The sequences in a padded tensor, each with its length."""
    rows = _call("unbind", padded_sequences, 0 if batch_first else 1)
    return [_call("narrow", row, 0, 0, length) for row, length in zip(rows, _lengths(lengths), strict=True)]


@Routine
def invert_permutation(permutation: Any) -> Tensor | None:
    """The permutation that undoes another one; None of None."""
    if permutation is None:
        return None
    output = _call("empty_like", permutation)
    places = _call("arange", permutation.array.size)
    return _method("scatter_", output, 0, permutation, places)  # type: ignore[no-any-return]


def _lengths(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if type(lengths) is Tensor else lengths)]


@Routine
def pack_padded_sequence(input: Any, lengths: Any, batch_first: Any = False, enforce_sorted: Any = True) -> NamedTuple:
    """Padded sequences step by step, without the padding. RuntimeError for lengths that do not fit."""
    counts, order = catalog.function("as_tensor")(lengths, dtype=dtypes.int64), None
    if not enforce_sorted:
        order = integers(np.argsort(-counts.array, kind="stable"))
        counts = Tensor(counts.array[order.array], dtypes.int64)
        input = _call("index_select", input, 0 if batch_first else 1, order)
    if type(input) is not Tensor:
        what = language.type_name(input)
        raise ProgramError("TypeError", f"_pack_padded_sequence(): argument 'input' (position 1) must be Tensor, not {what}")
    data, sizes = packed_sequences.pack(input, counts, bool(batch_first))
    return PackedSequence(_packed(data, sizes, order))


@Routine
def pack_sequence(sequences: Any, enforce_sorted: Any = True) -> NamedTuple:
    """Sequences packed step by step."""
    lengths = []
    for sequence in sequences:
        if type(sequence) is not Tensor:
            raise no_attribute(sequence, "size")
        lengths.append(sequence.shape[0])
    return pack_padded_sequence.function(pad_sequence.function(sequences), lengths, False, enforce_sorted)  # type: ignore[no-any-return]


@Routine
def pad_packed_sequence(
    sequence: Any, batch_first: Any = False, padding_value: Any = 0.0, total_length: Any = None
) -> tuple[Tensor, Tensor]:
    """The sequences of a packed one, padded, and their lengths. ValueError for a small `total_length`."""
    data, batch_sizes, _, order = sequence
    sizes: Sequence[int] = batch_sizes.tolist()
    longest = len(sizes) if total_length is None else total_length
    if longest < len(sizes):
        text = "Expected total_length to be at least the length of the longest sequence in input, but got total_length="
        raise ProgramError("ValueError", f"{text}{formatted(longest)} and max sequence length being {len(sizes)}")
    shape = (longest, sizes[0], *data.shape[1:])
    out = catalog.function("full")(shape, padding_value, dtype=data.dtype)
    packed_sequences.pad(data, sizes, out)
    lengths = integers((np.array(sizes)[:, None] > np.arange(sizes[0])).sum(0))
    out = _call("transpose", out, 0, 1) if batch_first else out
    if order is None:
        return out, lengths
    return _call("index_select", out, 0 if batch_first else 1, order), _call("index_select", lengths, 0, order)


@Routine
def unpack_sequence(packed_sequences: Any) -> list[Tensor]:
    """The sequences of a packed one."""
    padded, lengths = pad_packed_sequence.function(packed_sequences, True)
    return unpad_sequence.function(padded, lengths, True)  # type: ignore[no-any-return]
