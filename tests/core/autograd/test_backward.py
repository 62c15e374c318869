"""The backward pass: what it accumulates, what it shares, and how deep and wide a graph may be."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import backward
from gradcli.core.autograd.walk import Capture
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError
from tests.counting import calls


def leaf(*values: float) -> Tensor:
    made = wrap(np.array(values, np.float32))
    made.requires_grad = True
    return made


def torch(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def test_gradient_keeps_its_identity_while_it_accumulates() -> None:
    x = leaf(1, 2)
    backward.backward([torch("sum", x * x)])
    first = x.grad
    backward.backward([torch("sum", x * x)])
    assert x.grad is first
    assert first is not None and first.tolist() == [4, 8]


def test_gradients_share_no_memory() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    v = wrap(np.ones(2, np.float32))
    backward.backward([x + y], [v])
    assert x.grad is not None and y.grad is not None
    assert not np.shares_memory(x.grad.array, y.grad.array)
    assert not np.shares_memory(x.grad.array, v.array)
    a, b = backward.grad([x + y], [x, y], [v])
    assert a is not None and b is not None
    assert not np.shares_memory(a.array, b.array)
    assert not np.shares_memory(a.array, v.array)
    backward.backward([torch("sum", x)])
    assert x.grad.array.flags.writeable


def test_sums_of_bfloat16_gradients_are_rounded() -> None:
    half = Tensor(np.array([1.0], np.float32), dtypes.bfloat16)
    half.requires_grad = True
    out = half * 1.0 + half * 0.001  # 1.001 has no bfloat16
    backward.backward([torch("sum", out)])
    assert half.grad is not None
    assert half.grad.tolist() == [1.0]


def test_capture_sees_every_node() -> None:
    x = leaf(1, 2)
    square = x * x
    total = torch("sum", square)
    seen: Capture = {}
    backward.backward([total], capture=seen)
    assert total.node is not None and square.node is not None
    assert seen[total.node][0].tolist() == 1
    assert seen[square.node][0].tolist() == [1, 1]
    assert [g[0].tolist() for n, g in seen.items() if n.type_name == "AccumulateGrad"] == [[2, 4]]


def test_error_in_a_rule_names_the_place() -> None:
    x = leaf(1, 2)
    out = torch("exp", x)
    out.node.origin = "here"
    out.array[0] = 5
    out.counter().count += 1
    with pytest.raises(ProgramError) as caught:
        backward.backward([torch("sum", out)])
    assert caught.value.backward_origin == "here"


def test_create_graph_warns_of_the_cycle() -> None:
    said: list[str] = []
    before = warnings.set_sink(lambda category, message, _: said.append(message))
    try:
        x = leaf(1, 2)
        backward.backward([torch("sum", x * x)], create_graph=True)
    finally:
        warnings.set_sink(before)
    assert x.grad is not None and x.grad.requires_grad
    assert len(said) == 1 and said[0].startswith("Using backward() with create_graph=True will create a reference cycle")


def chain(x: Tensor, steps: int) -> Tensor:
    y = x
    for i in range(steps):
        y = y * 1.00001 if i % 2 else y + 1e-5
    return y


@pytest.mark.slow
@pytest.mark.parametrize("create_graph", [False, True])
def test_chain_of_100_000_operations(create_graph: bool) -> None:
    x = leaf(1, 2, 3)
    (slope,) = backward.grad([torch("sum", chain(x, 100_000))], [x], create_graph=create_graph)
    assert slope is not None
    assert np.allclose(slope.array, 1.00001**50_000, rtol=1e-2)
    del slope
    gc.collect()  # the graph goes without recursion, walked or not
    unwalked = chain(x, 100_000)
    del unwalked


def test_work_of_backward_is_linear() -> None:
    x = leaf(1, 2, 3)
    few, many = torch("sum", chain(x, 200)), torch("sum", chain(x, 2000))
    assert calls(lambda: backward.grad([many], [x])).total() < 10.5 * calls(lambda: backward.grad([few], [x])).total()


def test_wide_sum_of_one_leaf() -> None:
    x = leaf(1)
    parts = [x * float(i) for i in range(2000)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    backward.backward([torch("sum", total)])
    assert x.grad is not None
    assert x.grad.tolist() == [sum(range(2000))]


@pytest.mark.parametrize("operation", ["mul", "sin", "tanh"])
def test_memory_of_a_step(operation: str) -> None:
    """A node with the three-element tensor it keeps takes less than 1.2 kB."""
    x, w = leaf(1, 2, 3), leaf(1, 1, 1)
    y = x + 0.0
    tracemalloc.start()
    try:
        for _ in range(5000):
            y = torch("mul", y, w) if operation == "mul" else torch(operation, y)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / 5000 < 1200
