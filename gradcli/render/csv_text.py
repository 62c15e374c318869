"""Results as CSV: one row for each element, all digits."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import Any

from gradcli.results.derivatives import GradientTable
from gradcli.results.values import Array, Evaluation, TensorValue


def evaluation_csv(evaluation: Evaluation) -> str:
    """Columns `index,value`; the index of an element is its coordinates, a blank between them."""
    value = evaluation.value
    if isinstance(value, TensorValue):
        rows: Any = zip(indices(value.array), value.array.ravel().tolist(), strict=True)
    else:
        items = value.data if isinstance(value.data, list) else [value.data]
        rows = ((index if len(items) > 1 else "", item) for index, item in enumerate(items))
    return write(["index", "value"], rows)


def gradient_csv(table: GradientTable) -> str:
    """Columns `name,index,value,grad` (`grad0,grad1,...` for several vectors), the variables after the intermediates."""
    grads = ["grad"] if table.vectors == 1 else [f"grad{i}" for i in range(table.vectors)]
    return write(["name", "index", "value", *grads], _gradient_rows(table))


def _gradient_rows(table: GradientTable) -> Iterator[list[object]]:
    # without --all only the gradients of the variables were asked for
    rows = table.rows if table.intermediates else table.variables
    for row in rows:
        columns = [row.value.array.ravel().tolist()]
        columns += [[""] * row.value.array.size if gradient is None else gradient.array.ravel().tolist() for gradient in row.gradients]
        for index, *numbers in zip(indices(row.value.array), *columns, strict=True):
            yield [row.name, index, *numbers]


def indices(array: Array) -> Iterator[str]:
    """The index of every element: its coordinates separated by blanks, "" for a scalar."""
    return (" ".join(map(str, index)) for index in itertools.product(*map(range, array.shape)))


def write(headings: list[str], rows: Any) -> str:
    """The rows under their headings."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return out.getvalue()
