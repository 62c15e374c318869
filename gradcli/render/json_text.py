"""Results as JSON: versioned, all digits, nan and inf as strings, as JSON itself has none."""

from __future__ import annotations

import json
import math

from gradcli.results.derivatives import GradientTable, Row, RowCount
from gradcli.results.values import Evaluation, TensorValue


def evaluation_json(evaluation: Evaluation) -> str:
    """One line: the value with its shape, dtype and grad_fn; a value that is no tensor with its type."""
    value = evaluation.value
    content: dict[str, object] = {"gradcli": 1, "ok": True, "expression": evaluation.expression}
    if isinstance(value, TensorValue):
        content |= tensor(value) | {"grad_fn": evaluation.grad_fn, "requires_grad": evaluation.requires_grad}
    else:
        content |= {"value": value.data, "type": value.type_name}
    return dump(content)


def gradient_json(table: GradientTable) -> str:
    """One line: output, intermediates and variables; `grad` is a list of gradients when there are several vectors."""
    several = table.vectors > 1
    content = {
        "gradcli": 1,
        "ok": True,
        "output": _row(table.output, several),
        "intermediates": [_row(row, several) for row in table.intermediates],
        "variables": {row.name: _row(row, several) for row in table.variables},
        **over(table.over),
    }
    return dump(content)


def over(rows: RowCount | None) -> dict[str, object]:
    """The key that says over how many rows an expression was evaluated; none for None."""
    return {} if rows is None else {"over": {"name": rows.name, "rows": rows.count, "pieces": rows.pieces}}


def _row(row: Row, several: bool) -> dict[str, object]:
    gradients = [None if gradient is None else gradient.array.tolist() for gradient in row.gradients]
    return {
        "name": row.name,
        "expression": row.expression,
        "grad_fn": row.grad_fn,
        **tensor(row.value),
        "grad": gradients if several else gradients[0],
    }


def tensor(value: TensorValue) -> dict[str, object]:
    """The keys that describe a tensor."""
    return {"value": value.array.tolist(), "shape": list(value.shape), "dtype": value.dtype}


def _finite(data: object) -> object:
    """`data` with nan and the infinities as the strings "nan", "inf" and "-inf"."""
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, list):
        return [_finite(item) for item in data]
    if isinstance(data, dict):
        return {key: _finite(item) for key, item in data.items()}
    return data


#: no result contains itself
_encode = json.JSONEncoder(allow_nan=False, check_circular=False).encode


def dump(content: object) -> str:
    """One line of JSON."""
    try:
        return _encode(content) + "\n"
    except ValueError:
        return _encode(_finite(content)) + "\n"
