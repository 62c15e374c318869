"""Values, grad_fn names and gradients of every intermediate value, as PyTorch's retain_grad gave them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gradcli import limits
from gradcli.results.derivatives import Row
from gradcli.session import Session
from gradcli.source import Source
from tests.conformance import harness

CASES: dict[str, dict[str, Any]] = json.loads((harness.HERE / "explain.json").read_text())


def described(row: Row) -> tuple[str, str, list[float], list[float]]:
    """Text without blanks, grad_fn, value and gradient, rounded so that rows can be sorted."""
    (gradient,) = row.gradients
    assert gradient is not None
    return row.expression.replace(" ", ""), row.grad_fn, rounded(row.value.array), rounded(gradient.array)


def rounded(numbers: object) -> list[float]:
    return [float(f"{number:.5g}") for number in np.asarray(numbers, np.float64).ravel().tolist()]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_every_intermediate(case: dict[str, Any]) -> None:
    session = Session(bounds=limits.default(), write=print, warn=print, read_stdin=lambda: b"")
    for name, value in case["variables"].items():
        session.bind(name, json.dumps(value), exact=False)
    vectors = [json.dumps(case["vector"])] if case["vector"] else []
    table = session.gradient(Source("<expression>", case["expression"]), vectors, intermediates=True)
    ours = sorted(described(row) for row in (table.output, *table.intermediates))
    theirs = [(s["text"].replace(" ", ""), s["grad_fn"], rounded(s["value"]), rounded(s["grad"])) for s in case["steps"]]
    assert ours == sorted(theirs)
    for row in table.variables:
        leaf = case["leaves"][row.name]
        assert row.gradients[0] is not None
        np.testing.assert_allclose(row.gradients[0].array, leaf["grad"], rtol=1e-6)
