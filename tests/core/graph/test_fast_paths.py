"""The two fast paths for small tensors do what the ordinary way does, to the last bit: `Pointwise.fast_path` and `Walk._run_fast`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from gradcli.core.autograd import backward, hooks
from gradcli.core.autograd.walk import Walk
from gradcli.core.functions import catalog
from gradcli.core.graph import in_place
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import blocks
from gradcli.core.ops import operators
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError
from tests.core.ops.test_operations import WITH_INPUTS, name_of, scalar

function = catalog.function
OPERATORS: dict[str, Pointwise] = {symbol: run.__self__ for symbol, run in operators.FAST_PATHS.items()}  # type: ignore[attr-defined]


def tensor(values: Any, requires_grad: bool = False, dtype: dtypes.DType = dtypes.float32) -> Tensor:
    made = Tensor(np.array(values, dtype.np), dtype)
    made.requires_grad = requires_grad
    return made


def view_of_a_written_base() -> Tensor:
    base = function("mul")(tensor([1.0, 2.0, 3.0], True), 1)
    view = function("reshape")(base, (3,))
    in_place.fill_(base, 2.0)
    return view  # type: ignore[no-any-return]


LEFT: dict[str, Callable[[], Tensor]] = {
    "vector": lambda: tensor([1.0, -2.5, 0.0], True),
    "constant": lambda: tensor([1.0, -0.0, 3.0]),
    "number": lambda: tensor(3.5, True),
    "matrix": lambda: tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], True),
    "transposed": lambda: function("t")(tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], True)),
    "empty": lambda: tensor(np.zeros((0, 3)), True),
    "computed": lambda: function("exp")(tensor([0.5, 1.5, -1.0], True)),
    "view": view_of_a_written_base,
    "double": lambda: tensor([1.0, 2.0, 3.0], True, dtypes.float64),
    "half": lambda: tensor([1.0, 2.0, 3.0], True, dtypes.float16),
    "bfloat16": lambda: tensor([1.0, 2.0, 3.0], True, dtypes.bfloat16),
    "integers": lambda: tensor([1, 2, 3], False, dtypes.int64),
}
NUMBERS = [2, 0, -3, 0.1, 0.0, -0.0, 1e300, float("inf"), float("nan"), True, 2**70]
RIGHT: dict[str, Callable[[], Any]] = {
    **LEFT,
    "pair": lambda: tensor([1.0, 2.0], True),
    **{str(number): (lambda number=number: number) for number in NUMBERS},
}
#: left operands whose dtype the fast path leaves alone
OTHER_DTYPES = {"half", "bfloat16", "integers"}


def bits(array: Any) -> tuple[Any, ...]:
    array = np.asarray(array)
    return array.shape, array.dtype, array.tobytes()


def facts(out: Tensor) -> tuple[Any, ...]:
    """Everything about a result that depends on how it was computed; nodes and saved tensors by identity."""
    node = out.node
    recorded = None
    if node is not None:
        assert type(node) is OpNode
        saved = node.saved and [id(s) if type(s) is Tensor else s for s in node.saved]
        recorded = (node.op, node.edges, node.shape, node.dtype, node.plan, node.attrs, saved, node.versions, node.kept_out, node.plain)
    return bits(out.array), out.dtype, out.requires_grad, out.output_nr, out.meta, out.view, recorded


@pytest.mark.parametrize("mode", ["recording", "not recording", "inference"])
@pytest.mark.parametrize("symbol", OPERATORS)
def test_pointwise_fast_path_gives_the_ordinary_result(symbol: str, mode: str) -> None:
    op, taken = OPERATORS[symbol], set()
    for left, right in product(LEFT, RIGHT):
        a, b = LEFT[left](), RIGHT[right]()
        state.inference = mode == "inference"
        try:
            with recording(mode == "recording"):
                fast = op.fast_path(a, b)
                if fast is not None:
                    taken.add((left, right))
                    assert facts(fast) == facts(op(a, b)), (left, right)
        except ProgramError as error:
            assert right == str(2**70), error
            with pytest.raises(ProgramError, match=str(error)):
                op(a, b)
        finally:
            state.inference = False
    assert {("vector", "vector"), ("matrix", "vector"), ("number", "2"), ("computed", "0.1"), ("double", "double")} <= taken
    assert not [pair for pair in taken if pair[0] in OTHER_DTYPES or pair[1] in OTHER_DTYPES]
    assert not {("vector", "double"), ("vector", "True"), ("vector", "pair")} & taken


@pytest.mark.parametrize("symbol", OPERATORS)
def test_pointwise_fast_path_leaves_large_and_deferred_arrays(symbol: str) -> None:
    large = wrap(np.ones(blocks.threshold, np.float32))
    assert OPERATORS[symbol].fast_path(large, 2.0) is None
    assert OPERATORS[symbol].fast_path(function("exp")(large), 2.0) is None
    column, row = wrap(np.ones((1 << 9, 1), np.float32)), wrap(np.ones(1 << 9, np.float32))
    assert OPERATORS[symbol].fast_path(column, row) is None  # the bounds are to be looked at


def test_pointwise_fast_path_tells_of_recorded_steps() -> None:
    seen: list[tuple[Node, tuple[Tensor, ...]]] = []
    a = tensor([1.0, 2.0], True)
    state.set_watch(seen)
    try:
        out = OPERATORS["*"].fast_path(a, a)
    finally:
        state.set_watch(None)
    assert out is not None and seen == [(out.node, (out,))]


def test_pointwise_fast_path_refuses_inference_tensors_as_the_ordinary_way_does() -> None:
    a, b = tensor([1.0, 2.0], True), tensor([1.0, 2.0])
    b.meta = {"inference": True}
    for run in (OPERATORS["*"].fast_path, OPERATORS["*"]):
        with pytest.raises(ProgramError, match="Inference tensors cannot be saved for backward"):
            run(a, b)


# --- the walk -------------------------------------------------------------------------------------


def _ordinary(walk: Walk, order: list[Node]) -> None:
    for at, node in enumerate(order):
        if node in walk.folded:
            node.next_functions  # noqa: B018
            walk._run_folded(node, at)
        else:
            walk._visit(node)


@pytest.fixture(params=["fast", "ordinary"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The test runs both ways."""
    if request.param == "ordinary":
        monkeypatch.setattr(Walk, "_run_fast", _ordinary)
    yield request.param


def both(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> tuple[Any, Any]:
    """What `run` gives with the fast path, and without it."""
    fast = run()
    with monkeypatch.context() as patched:
        patched.setattr(Walk, "_run_fast", _ordinary)
        return fast, run()


def poly() -> tuple[Tensor, Tensor]:
    x = tensor([1.0, 2.0, 3.0], True)
    return x, function("mean")((x + 2) * (x + 2) * 2)


def test_walk_fast_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(walk: Walk, node: Node) -> None:
        raise AssertionError(f"{node.type_name} was not taken by the fast path")

    monkeypatch.setattr(Walk, "_visit", refuse)
    x, out = poly()
    backward.backward([out])
    assert x.grad is not None and np.allclose(x.grad.array, [4.0, 16 / 3, 20 / 3])


@pytest.mark.slow
def test_walk_fast_path_gives_the_ordinary_gradients_of_every_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    for _, sample in WITH_INPUTS:

        def run(sample: Any = sample) -> Any:
            loss, inputs = scalar(sample)
            if not loss.requires_grad:
                return None
            backward.backward([loss])
            return [None if x.grad is None else bits(x.grad.array) for x in inputs.values()]

        fast, ordinary = both(monkeypatch, run)
        assert fast == ordinary, name_of(sample)


def shared() -> list[Tensor]:
    x, w = tensor([1.0, 2.0, 3.0], True), tensor(2.0, True)
    y = x * w
    return [x, w, function("sum")(y * y + y * x + function("exp")(y))]


def mixed_dtypes() -> list[Tensor]:
    x = tensor([1.0, 2.0, 3.0], True)
    half = catalog.method("half").method(x * x, (), {})
    return [x, function("sum")(catalog.method("double").method(half * 3, (), {}) * x)]


def several_outputs() -> list[Tensor]:
    x = tensor([[1.0, 5.0, 3.0], [2.0, 0.0, 4.0]], True)
    first, second = function("unbind")(x * 2, 0)
    return [x, function("sum")(function("sum")(first * second) + function("max")(x, 1)[0])]


def watched() -> list[Tensor]:
    x = tensor([1.0, 2.0, 3.0], True)
    y, z = x * 2, x * 3
    backward.retain_grad(y)
    hooks.register_hook(z, lambda grad: grad * 10)
    return [x, y, function("sum")(y * z)]


def leaf_as_root() -> list[Tensor]:
    x = tensor(2.0, True)
    return [x, x]


@pytest.mark.parametrize("program", [shared, mixed_dtypes, several_outputs, watched, leaf_as_root], ids=lambda f: f.__name__)
def test_walk_fast_path_gives_the_ordinary_gradients(program: Callable[[], list[Tensor]], monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> Any:
        *tensors, loss = program()
        backward.backward([loss], retain_graph=True)
        backward.backward([loss])
        return [None if t.grad is None else bits(t.grad.array) for t in tensors]

    fast, ordinary = both(monkeypatch, run)
    assert fast == ordinary and any(fast)


def test_walk_fast_path_does_not_write_to_a_gradient_that_is_shared(way: str) -> None:
    x, y = tensor([1.0, 2.0], True), tensor([3.0, 4.0], True)
    total = function("sum")(x + y)
    backward.backward([total], retain_graph=True)
    backward.backward([total])
    assert x.grad is not None and y.grad is not None
    assert x.grad.tolist() == y.grad.tolist() == [2.0, 2.0] and x.grad.array is not y.grad.array


def modified_input() -> Tensor:
    y = tensor([1.0, 2.0], True) * 2
    out = y * y
    in_place.fill_(y, 1.0)
    return function("sum")(out)  # type: ignore[no-any-return]


def modified_output() -> Tensor:
    y = function("exp")(tensor([1.0, 2.0], True))
    in_place.zero_(y)
    return function("sum")(y)  # type: ignore[no-any-return]


def modified_data() -> Tensor:
    index = tensor([1, 0], False, dtypes.int64)
    out = function("index_select")(tensor([1.0, 2.0], True) * 2, 0, index)
    in_place.fill_(index, 0)
    return function("sum")(out)  # type: ignore[no-any-return]


def freed() -> Tensor:
    out = function("sum")(tensor([1.0, 2.0], True) ** 2)
    backward.backward([out])
    return out  # type: ignore[no-any-return]


def _refuse(grad: Any) -> Any:
    raise ProgramError("RuntimeError", "the rule refuses")


REFUSING = Op("RefuseBackward0", lambda a: a * 1, "input", input=Rule(_refuse, "grad"))


def refusing() -> Tensor:
    return function("sum")(REFUSING(tensor([1.0, 2.0], True) * 2))  # type: ignore[no-any-return]


ERRORS = {
    modified_input: r"modified by an inplace operation: \[torch.FloatTensor \[2\]\].*is at version 1; expected version 0",
    modified_output: r"\[torch.FloatTensor \[2\]\], which is output 0 of .*, is at version 1; expected version 0",
    modified_data: r"\[torch.LongTensor \[2\]\] is at version 1; expected version 0",
    freed: "Trying to backward through the graph a second time",
    refusing: "the rule refuses",
}


@pytest.mark.parametrize("program", ERRORS, ids=lambda f: f.__name__)
def test_walk_fast_path_raises_the_ordinary_errors(program: Callable[[], Tensor], way: str, request: pytest.FixtureRequest) -> None:
    state.origin = "forward"
    try:
        loss = program()
    finally:
        state.origin = None
    with pytest.raises(ProgramError, match=ERRORS[program]) as caught:  # type: ignore[index]
        backward.backward([loss])
    assert caught.value.backward_origin == "forward"
