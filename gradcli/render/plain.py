"""Torch's own text, and bare numbers for other programs."""

from __future__ import annotations

from collections.abc import Iterator

from gradcli.results.derivatives import GradientTable
from gradcli.results.values import Array, Evaluation, TensorValue, Value


def evaluation_repr(evaluation: Evaluation) -> str:
    """The value as PyTorch prints it."""
    return evaluation.value.repr() + "\n"


def gradient_repr(table: GradientTable) -> str:
    """`out = ...`, then `x.grad = ...` for every variable, and for every vector when there are several."""
    out = [f"{table.output.name} = {table.output.value.repr()}"]
    for row in (*table.intermediates, *table.variables):
        for i, gradient in enumerate(row.gradients):
            out.append(f"{row.name}.grad{_ordinal(i, table)} = {gradient.repr() if gradient else None}")
    return "\n".join(out) + "\n"


def evaluation_plain(evaluation: Evaluation) -> str:
    """A tensor with all digits, the last axis on a line and a blank line between matrices; the repr of other values."""
    return "".join(f"{line}\n" for line in _value_lines(evaluation.value))


def gradient_plain(table: GradientTable) -> str:
    """Lines of `name`, a tab and numbers: the output, then every gradient; one line for each row of a matrix."""
    out = [f"{table.output.name}\t{line}" for line in number_lines(table.output.value.array)]
    for row in (*table.intermediates, *table.variables):
        for i, gradient in enumerate(row.gradients):
            lines = ["None"] if gradient is None else filter(None, number_lines(gradient.array))
            out += [f"{row.name}.grad{_ordinal(i, table)}\t{line}" for line in lines]
    return "\n".join(out) + "\n"


def _ordinal(index: int, table: GradientTable) -> str:
    return "" if table.vectors == 1 else f"[{index}]"


def _value_lines(value: Value) -> Iterator[str]:
    if isinstance(value, TensorValue):
        yield from number_lines(value.array)
    else:
        yield value.repr()


def number_lines(array: Array) -> Iterator[str]:
    """All digits: the last axis on a line, a blank line between matrices."""
    if array.ndim < 2:
        yield " ".join(map(str, array.ravel().tolist()))
        return
    for index, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
        if index:
            yield ""
        for row in matrix.tolist():
            yield " ".join(map(str, row))
