"""What records save for backward has PyTorch's names, and backward frees it where PyTorch's does."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest

from gradcli.core.functions import catalog
from gradcli.core.graph.record import Op
from gradcli.core.graph.saved_values import Place, places

#: by class of node: the names of tensors and of other values; `tools/record_saved_names.py` writes it
RECORDED = json.loads((Path(__file__).parent / "saved_names.json").read_text())
catalog.all_functions()  # loads every record
RECORDS = sorted((one for one in gc.get_objects() if isinstance(one, Op) and one.grad_fn in RECORDED), key=lambda op: op.grad_fn)


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.grad_fn)
def test_a_record_saves_what_pytorch_saves(op: Op) -> None:
    recorded = RECORDED[op.grad_fn]
    assert sorted(places(op)) == sorted(recorded["tensors"] + recorded["others"])


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.grad_fn)
def test_no_other_value_counts_as_a_tensor_that_is_freed(op: Op) -> None:
    kept = {name for name, place in places(op).items() if place.kind in ("input", "output") and place.is_tensor}
    numbers = {"self" if name == "input" else name for name, rule in op.rules.items() if rule is None}
    assert kept <= numbers | set(RECORDED[op.grad_fn]["tensors"])


def test_names_find_arguments_outputs_parts_and_constants() -> None:
    op = Op(
        "CubeBackward0",
        lambda x, y, scales: x,
        "input other",
        "scales",
        saved="self weight=other result scales_h=scales[1] other_sym_sizes self_dim self_sym_argsize_minus_1 alpha=1 LU=? pivots=?",
        computed={"pivots": lambda x, y, scales: x},
        input=None,
        other=None,
    )
    assert places(op) == {
        "self": Place("input", 0),
        "weight": Place("input", 1),
        "result": Place("output", 0, late=True),
        "scales_h": Place("attr", 0, "1"),
        "other_sym_sizes": Place("input", 1, "sizes"),
        "self_dim": Place("input", 0, "dim"),
        "self_sym_argsize_minus_1": Place("input", 0, "-1"),
        "alpha": Place("constant", 1),
        "LU": Place("unknown", None),
        "pivots": Place("computed", 1, late=True),
    }
