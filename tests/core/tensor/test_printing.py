"""The printed text against PyTorch 2.13's, to the character.

printing_recorded.json holds what `repr(tensor)` was in PyTorch 2.13.0 (CPU). Of every case: dtype and shape; the numbers, as
`values` or as `ramp` [start, step] for start + step * arange(n) in float64; `options` given to `set_printoptions`; `default`
dtype; requires_grad, is_parameter, grad_fn; and `text`, or `error` (type and message). Numbers that are not finite are strings.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.core.tensor import printing
from gradcli.core.tensor.printing import PrintOptions, set_printoptions, tensor_text, values_text
from gradcli.core.tensor.tensor import Size
from gradcli.errors import LimitError, ProgramError
from tests.counting import calls

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("printing_recorded.json").read_text(encoding="utf-8"))


def array_of(case: dict[str, Any]) -> np.ndarray[Any, Any]:
    if "ramp" in case:
        start, step = case["ramp"]
        numbers = start + step * np.arange(math.prod(case["shape"]), dtype=np.float64)
    else:
        numbers = np.array([float(v) if isinstance(v, str) else v for v in case["values"]], dtype=None if case["values"] else np.float64)
    stored = "float32" if case["dtype"] == "bfloat16" else case["dtype"]
    with np.errstate(all="ignore"):
        array: np.ndarray[Any, Any] = numbers.astype(stored).reshape(case["shape"])
    return array


def options_of(case: dict[str, Any]) -> PrintOptions:
    options = PrintOptions()
    given: dict[str, Any] = case.get("options", {})
    numbers: dict[str, Any] = {k: float(v) if isinstance(v, str) and k != "profile" else v for k, v in given.items()}
    set_printoptions(options, **numbers)
    return options


def text_of(case: dict[str, Any]) -> str:
    return tensor_text(
        array_of(case),
        case["dtype"],
        options=options_of(case),
        default_dtype=case.get("default", "float32"),
        requires_grad=case.get("requires_grad", False),
        grad_fn=case.get("grad_fn"),
        is_parameter=case.get("is_parameter", False),
    )


@pytest.mark.parametrize("start", range(0, len(CASES), 50))
def test_recorded_texts(start: int) -> None:
    for case in CASES[start : start + 50]:
        described = {k: v for k, v in case.items() if k not in ("values", "text")}
        if "error" in case:
            with pytest.raises(ProgramError) as caught:
                text_of(case)
            assert [caught.value.type_name, caught.value.message] == case["error"], described
        else:
            assert text_of(case) == case["text"], described


def test_the_recording_has_all_kinds() -> None:
    names = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"}
    assert {case["dtype"] for case in CASES} == names
    assert {len(case["shape"]) for case in CASES} >= {0, 1, 2, 3, 4}
    for key in ("options", "default", "requires_grad", "is_parameter", "grad_fn", "error"):
        assert sum(key in case for case in CASES) >= 10, key


def plain(values: object, dtype: str = "float32", **options: Any) -> str:
    chosen = PrintOptions()
    set_printoptions(chosen, **options)
    return tensor_text(np.array(values, dtype), dtype, options=chosen)


def test_ratio_and_limits_of_scientific_notation() -> None:
    # Over 1000 times the smallest, over 1e8, or under 1e-4; at the limit itself the notation stays plain.
    assert plain([1.0, 1000.0]) == "tensor([   1., 1000.])"
    assert plain([1.0, 1001.0]) == "tensor([1.0000e+00, 1.0010e+03])"
    assert plain(1e8) == "tensor(100000000.)"
    assert plain(1e8 + 8) == "tensor(1.0000e+08)"
    assert plain(1e-4, "float64") == "tensor(0.0001, dtype=torch.float64)"
    assert plain(0.99e-4, "float64") == "tensor(9.9000e-05, dtype=torch.float64)"
    # float32's 1e-4 is a little below the float64 number it is compared with.
    assert plain(1e-4) == "tensor(1.0000e-04)"


def test_zeros_and_nonfinite_numbers_have_no_say() -> None:
    assert plain([-0.0, 1.5]) == "tensor([-0.0000, 1.5000])"
    assert plain([math.nan, 1.0]) == "tensor([nan, 1.])"
    assert plain([math.inf, -math.inf, 0.0]) == "tensor([inf, -inf, 0.])"
    assert plain([0.0, math.nan], sci_mode=True) == "tensor([0., nan])"


def test_suffixes() -> None:
    options = PrintOptions()
    one = np.array([1.0], np.float32)
    assert tensor_text(one, "float32", options=options, default_dtype="float64") == "tensor([1.], dtype=torch.float32)"
    text = tensor_text(one, "float32", options=options, requires_grad=True, grad_fn="torch::autograd::CopyBackwards")
    assert text == "tensor([1.], grad_fn=<CopyBackwards>)"
    text = tensor_text(one, "float32", options=options, requires_grad=True, is_parameter=True)
    assert text == "Parameter containing:\ntensor([1.], requires_grad=True)"
    empty = np.zeros((0, 3), bool)
    assert tensor_text(empty, "bool", options=options) == "tensor([], size=(0, 3), dtype=torch.bool)"


def test_indent_moves_continuation_lines() -> None:
    matrix = np.array([[1, 2], [3, 4]])
    options = PrintOptions()
    assert values_text(matrix, "int64", options=options) == "[[1, 2],\n [3, 4]]"
    assert values_text(matrix, "int64", options=options, indent=4) == "[[1, 2],\n     [3, 4]]"
    assert tensor_text(matrix, "int64", options=options) == "tensor([[1, 2],\n        [3, 4]])"
    # The column at which the text begins counts when a line is filled.
    numbers = np.arange(9)
    assert values_text(numbers, "int64", options=PrintOptions(linewidth=30), indent=0) == "[0, 1, 2, 3, 4, 5, 6, 7, 8]"
    assert values_text(numbers, "int64", options=PrintOptions(linewidth=30), indent=10) == f"[0, 1, 2, 3, 4, 5,\n{' ' * 11}6, 7, 8]"


def test_set_printoptions() -> None:
    options = PrintOptions()
    set_printoptions(options, precision=2, sci_mode=True)
    assert options == PrintOptions(precision=2, sci_mode=True)
    set_printoptions(options, linewidth=60)
    assert options == PrintOptions(precision=2, linewidth=60), "every call sets sci_mode anew"
    set_printoptions(options, profile="full", edgeitems=7)
    assert options == PrintOptions(threshold=math.inf, edgeitems=7)
    set_printoptions(options, profile="short")
    assert options == PrintOptions(precision=2, edgeitems=2)
    set_printoptions(options, profile="no such profile")
    assert options == PrintOptions(precision=2, edgeitems=2)


@pytest.mark.parametrize("name, value", [("precision", "3"), ("threshold", "a"), ("linewidth", [1]), ("edgeitems", 1.5)])
def test_options_that_are_no_numbers(name: str, value: object) -> None:
    options = PrintOptions()
    with pytest.raises(ProgramError, match=name) as caught:
        set_printoptions(options, profile="short", **{name: value})  # type: ignore[arg-type]
    assert caught.value.type_name == "TypeError"
    assert options == PrintOptions(), "nothing is set by a call that fails"


def test_size_text() -> None:
    assert [repr(Size(s)) for s in ((), (3,), (2, 3))] == ["torch.Size([])", "torch.Size([3])", "torch.Size([2, 3])"]


def test_length_is_bounded_before_the_text_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = PrintOptions(threshold=math.inf)
    ones = np.ones(100, np.float32)
    with monkeypatch.context() as bounded:
        bounded.setattr(printing, "_MAX_CHARS", 400)
        assert len(values_text(ones, "float32", options=PrintOptions(threshold=math.inf, linewidth=400))) == 400
        bounded.setattr(printing, "_MAX_CHARS", 399)
        with pytest.raises(LimitError) as caught:
            values_text(ones, "float32", options=whole)
        assert caught.value.limit == "string"
    with pytest.raises(LimitError):
        values_text(np.broadcast_to(np.float32(0), (10**6, 10**6)), "float32", options=whole)
    with pytest.raises(LimitError):
        plain(0.5, precision=2**31 - 1)
    with pytest.raises(LimitError):
        # An axis of six elements is shown whole; twenty such axes are 3.6e15 numbers.
        values_text(np.broadcast_to(np.float32(0), (6,) * 20), "float32", options=PrintOptions())


def test_a_summary_does_not_touch_what_it_leaves_out() -> None:
    # To read all 10**12 elements would take hours.
    huge = np.broadcast_to(np.float32(0.5), (10**6, 10**6))
    text = tensor_text(huge, "float32", options=PrintOptions())
    row = "[0.5000, 0.5000, 0.5000,  ..., 0.5000, 0.5000, 0.5000]"
    assert text == "tensor([" + ",\n        ".join([row, row, row, "...", row, row, row]) + "])"


def test_small_tensors_take_few_calls() -> None:
    small = np.array([0.5, 1.5, 2.5], np.float32)
    options = PrintOptions()
    assert calls(lambda: tensor_text(small, "float32", options=options, grad_fn="AddBackward0")).total() < 60
