"""Losses against PyTorch 2.13: values, gradients, second derivatives and grad_fn names, recorded in loss_recorded.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import backward
from gradcli.core.calling import warnings
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError

RECORDED = json.loads((Path(__file__).parent / "loss_recorded.json").read_text())
DATA: dict[str, Any] = RECORDED["data"]


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    return library.find(f"nn.functional.{name}")(*args, **kwargs)


def tensor(values: Any) -> Tensor:
    array = np.array(values)
    return wrap(array.astype(np.float32) if array.dtype.kind == "f" else array)


def close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got).ravel(), want, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "letters", "options", "value", "gradient", "second", "grad_fn", "grad_name"), RECORDED["losses"])
def test_loss(
    name: str, letters: str, options: dict[str, Any], value: Any, gradient: Any, second: Any, grad_fn: str, grad_name: str | None
) -> None:
    args = [tensor(DATA[letter]) for letter in letters]
    args[0].requires_grad = True
    options = {k: tensor(DATA[v]) if isinstance(v, str) and v in DATA else v for k, v in options.items()}
    out = call(name, *args, **options)
    close(out.array, value)
    assert out.grad_fn.name() == grad_fn
    total = library.find("sum")(out) if out.dim() else out
    (first,) = backward.grad((total,), (args[0],), [None], create_graph=True)
    assert first is not None
    close(first.array, gradient)
    if second is None:
        assert first.grad_fn is None or grad_name is not None
        return
    weighted = library.find("sum")(first * tensor(np.arange(1.0, 7.0).reshape(2, 3)))
    (again,) = backward.grad((weighted,), (args[0],), [None], allow_unused=True)
    close(np.zeros(6) if again is None else again.array, second)


LOGITS = tensor(DATA["P"])
WRONG: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: call("mse_loss", LOGITS), "TypeError", "mse_loss() missing 1 required positional argument: 'target'"),
    (lambda: call("mse_loss", LOGITS, 1.0), "AttributeError", "'float' object has no attribute 'size'"),
    (lambda: call("mse_loss", LOGITS, LOGITS, reduction="foo"), "ValueError", "foo is not a valid value for reduction"),
    (lambda: call("huber_loss", LOGITS, LOGITS, delta=0.0), "RuntimeError", "huber_loss does not support non-positive values for delta."),
    (lambda: call("cross_entropy", LOGITS, tensor([1, 3])), "IndexError", "Target 3 is out of bounds."),
    (
        lambda: call("cross_entropy", LOGITS, tensor([1, 2, 0])),
        "ValueError",
        "Expected input batch_size (2) to match target batch_size (3).",
    ),
    (
        lambda: call("cross_entropy", LOGITS, tensor([1.0, 2.0])),
        "RuntimeError",
        "expected target dtype to be Long or Byte, but got Float",
    ),
    (
        lambda: call("cross_entropy", LOGITS, tensor([[1], [0]])),
        "RuntimeError",
        "0D or 1D target tensor expected, multi-target not supported",
    ),
    (
        lambda: call("cross_entropy", LOGITS, tensor([1, 0]), weight=tensor([1.0, 1.0])),
        "RuntimeError",
        "weight tensor should be defined either for all 3 classes or no classes but got weight tensor of shape: [2]",
    ),
    (
        lambda: call("cross_entropy", LOGITS, tensor([1, 0]), label_smoothing=1.5),
        "RuntimeError",
        "label_smoothing must be between 0.0 and 1.0. Got: 1.5",
    ),
    (lambda: call("binary_cross_entropy", LOGITS, tensor(DATA["Y"])), "RuntimeError", "all elements of input should be between 0 and 1"),
    (
        lambda: call("binary_cross_entropy_with_logits", LOGITS, tensor(DATA["W"])),
        "ValueError",
        "Target size (torch.Size([3])) must be the same as input size (torch.Size([2, 3]))",
    ),
]


@pytest.mark.parametrize(("run", "kind", "text"), WRONG)
def test_errors(run: Callable[[], Any], kind: str, text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run()
    assert (caught.value.type_name, caught.value.message) == (kind, text)


def test_sizes_that_differ_are_warned_about() -> None:
    seen: list[str] = []
    before = warnings.set_sink(lambda category, message, _: seen.append(message))
    try:
        assert call("mse_loss", tensor([1.0, 2.0]), tensor([[1.0], [3.0]])).item() == 1.5
    finally:
        warnings.set_sink(before)
    assert seen == [
        "Using a target size (torch.Size([2, 1])) that is different to the input size (torch.Size([2])). This will likely lead to "
        "incorrect results due to broadcasting. Please ensure they have the same size."
    ]


def test_everything_ignored_is_nan() -> None:
    assert np.isnan(call("cross_entropy", LOGITS, tensor([-100, -100])).item())
