"""Elementwise chains in blocks give what eager operations give, whatever happens to the arrays in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import backward, tensor_state
from gradcli.core.functions import catalog
from gradcli.core.graph import in_place
from gradcli.core.kernels import block_program, blocks
from gradcli.core.ops import operators
from gradcli.core.ops.elementwise import divide_remainder
from gradcli.core.tensor.tensor import Tensor, wrap

function = catalog.function


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(blocks, "threshold", 100)
    monkeypatch.setattr(blocks, "BLOCK", 64)
    monkeypatch.setattr(block_program, "SHARE", 1)
    yield
    blocks.settle()


def leaf(n: int = 1000, seed: int = 0) -> Tensor:
    made = wrap(np.random.default_rng(seed).random(n, np.float32))
    made.requires_grad = True
    return made


def pending(tensor: Tensor) -> bool:
    return type(tensor.array) is blocks.Deferred and tensor.array.value is None


def test_a_chain_waits_and_its_gradient_is_right() -> None:
    x = leaf(20000)
    y = (x + 2) * (x + 2) * 2
    assert pending(y)
    mean = function("mean")(y)
    assert pending(y), "a mean needs no memory for the chain"
    backward.backward([mean])
    assert x.grad is not None
    np.testing.assert_allclose(mean.array, (2 * (x.array.astype(float) + 2) ** 2).mean(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.array, 4 * (x.array + 2) / 20000, rtol=1e-5)
    assert type(x.grad.array) is np.ndarray


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    def total() -> Any:
        monkeypatch.setattr(block_program, "workers", workers)
        return function("sum")(function("exp")(leaf(5000)) * 3 - 1).array

    monkeypatch.setattr(block_program, "workers", 1)
    alone = function("sum")(function("exp")(leaf(5000)) * 3 - 1).array
    assert total() == alone


def test_an_in_place_write_comes_after_what_was_computed_before_it() -> None:
    x = leaf()
    before = x.array.copy()
    y = x * 2
    in_place.zero_(tensor_state.detach(x))
    np.testing.assert_array_equal(np.asarray(y.array), before * 2)
    assert not x.array.any()


def test_an_update_under_no_grad_comes_after_too() -> None:
    x = leaf()
    before = x.array.copy()
    y = tensor_state.detach(x) * 2
    from gradcli.core.tensor.state import recording

    with recording(False):
        operators.augmented("-", x, 1.0)
    np.testing.assert_array_equal(np.asarray(y.array), before * 2)


def test_two_leaves_of_one_gradient_do_not_share_it() -> None:
    a, b = leaf(seed=1), leaf(seed=2)
    backward.backward([function("sum")((a + b) * 3)])
    assert a.grad is not None and b.grad is not None
    a.grad.array[...] = 0
    np.testing.assert_array_equal(b.grad.array, np.full(1000, 3, np.float32))


def test_a_chain_used_again_and_again_is_stored() -> None:
    x = leaf()
    y = function("sin")(x) * 2
    for _ in range(4):
        function("sum")(y)
    assert not pending(y)


def test_a_long_loop_does_not_grow_a_chain_without_end() -> None:
    x = leaf()
    y = tensor_state.detach(x)
    for _ in range(1000):
        y = y * 1.001
    assert y.array.depth <= blocks._DEEPEST + 1
    np.testing.assert_allclose(np.asarray(y.array), x.array * 1.001**1000, rtol=1e-3)


@pytest.mark.parametrize(
    "use",
    [
        lambda y: function("reshape")(y, (10, 100)),
        lambda y: function("sort")(y)[0],
        lambda y: function("cumsum")(y, 0),
        lambda y: operators.getitem(y, slice(3, 9)),
        lambda y: function("where")(y > 0.5, y, 0.0),
        lambda y: function("cat")([y, y]),
        lambda y: function("dot")(y, y),
        lambda y: function("softmax")(y, 0),
        lambda y: function("clamp")(y, 0.1, 0.3),
        lambda y: function("relu")(y - 0.5),
        lambda y: y**3,
        lambda y: function("max")(y),
        lambda y: function("var")(y),
    ],
)
def test_operations_of_other_kinds_see_the_values(monkeypatch: pytest.MonkeyPatch, use: Any) -> None:
    def run() -> tuple[Any, Any]:
        x = leaf()
        out = use(x * 2 + 1)
        backward.backward([function("sum")(out)])
        assert x.grad is not None
        return np.asarray(out.array), x.grad.array

    blocked = run()
    monkeypatch.setattr(blocks, "threshold", 1 << 30)
    for ours, eager in zip(blocked, run(), strict=True):
        np.testing.assert_allclose(ours, eager, rtol=1e-5, atol=1e-7)


def test_an_interrupted_chain_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    x = leaf()
    y = x + 2
    with monkeypatch.context() as patch:
        patch.setattr(block_program.BlockProgram, "_work", interrupt)
        with pytest.raises(KeyboardInterrupt):
            np.asarray(y.array)
    assert pending(y)
    np.testing.assert_array_equal(np.asarray(y.array), x.array + 2)


def test_a_choice_by_bits_is_that_of_numpy() -> None:
    drawn = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, 3e38])
    condition = drawn.random((70, 100)) > 0.5
    for dtype in (np.float32, np.float64, np.float16, np.int64):
        with np.errstate(all="ignore"):
            a, b = (drawn.choice(special, condition.shape).astype(dtype) for _ in range(2))
        for x, y in ((a, b), (a, -0.0), (dtype(2), b), (np.asfortranarray(a), b), (a, b[:1]), (a.astype(np.float64), b)):
            made, expected = blocks.where(condition, x, y), np.where(condition, x, y)
            assert (made.dtype, made.strides, made.tobytes()) == (expected.dtype, expected.strides, expected.tobytes())


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "nn.functional.gelu"])
def test_a_kernel_in_pieces_waits_and_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def run() -> tuple[Any, Any]:
        x = leaf(5000)
        made = function(name)(x * 8 - 4)
        backward.backward([function("sum")(made)])
        assert x.grad is not None
        return np.asarray(made.array), x.grad.array

    expected = run()
    monkeypatch.setattr(blocks, "PIECE", 10)
    waiting = run()
    monkeypatch.setattr(blocks, "threshold", 1 << 20)
    for found in (waiting, run()):
        np.testing.assert_array_equal(found, expected)


def test_a_remainder_by_way_of_double_precision_is_that_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(0)
    numbers = np.float32([0.0, -0.0, 1.0, -0.7, 3e38, 1e-45, 2.0**28, np.inf, -np.inf, np.nan, *drawn.standard_normal(20)])
    a, b = (x.reshape(-1) for x in np.meshgrid(numbers, numbers))
    monkeypatch.setattr(divide_remainder, "_MANY", 1)
    with np.errstate(all="ignore"):
        for divisor in (b, np.float32(0.7), -3):
            found, expected = divide_remainder.FMOD.forward(a, divisor), np.fmod(a, divisor)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[expected == 0]))
            np.testing.assert_array_equal(divide_remainder.REMAINDER.forward(a, divisor), np.remainder(a, divisor))
