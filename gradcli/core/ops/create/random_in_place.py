"""Methods that fill a tensor with random numbers in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Overload
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.write_checks import check_batch, check_memory, check_overlap, shares_places
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import not_implemented, require_floating
from gradcli.core.ops.create.random_tensors import check_deviation, check_same, normal, source, uniform
from gradcli.core.ops.rules import ZERO, moves
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.random.generator import Generator
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

Sizes = tuple[int, ...]


#: PyTorch's error of vmap
_UNBATCHED = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is necessary "
    "for your usage, please file an issue with functorch."
)


def _record(grad_fn: str) -> Op:
    """The record of an in-place draw: the old values have no influence on the new ones."""
    return Op(grad_fn, lambda a: a, "input", input=ZERO)


def _fill(tensor: Tensor, op: Op, draw: Callable[[Sizes], Array]) -> Tensor:
    """Overwrite with values that are drawn in the order of memory, which is PyTorch's order."""
    drawing = state.mapped[-1].drawing if state.mapped else None
    if drawing is not None and drawing.refusal is None and not state.mapped[-1].levels(tensor):
        raise runtime_error(_UNBATCHED)
    if shares_places(tensor.array):
        draw((0,))  # raises the errors of the parameters, which PyTorch checks first
    check_memory(tensor)

    def write(array: Array) -> None:
        memory_format.filled(array, draw)

    return in_place.write_part(tensor, op, (), (), write)


def _integers_into(grad_fn: str, draw: Callable[..., Array]) -> Callable[..., Tensor]:
    """The implementation of an overload of random_, which looks at the memory before it looks at the parameters."""
    fill = _filling(grad_fn, draw)

    def run(input: Tensor, *given: Any) -> Tensor:
        check_memory(input)
        *low, high = given[:-1] or (None,)
        if input.dtype.is_complex and len(given) > 1 and (high is None or high > (low or (0,))[0]):
            name = "random_from_to_impl" if high is None else "check_random_bounds"
            raise runtime_error(f"{name} handles only integral, floating-point and boolean types")
        return fill(input, *given)

    return run


def _filling(grad_fn: str, draw: Callable[..., Array], kernel: str = "") -> Callable[..., Tensor]:
    """The implementation of a method; `draw` gets a generator, a shape, a dtype and the arguments of the call.

    `kernel` is PyTorch's name of what it does not have for complex tensors.
    """
    op = _record(grad_fn)

    def run(input: Tensor, *given: Any) -> Tensor:
        *own, named = given
        if input.dtype.is_complex and kernel and input.array.size:
            draw(source(named), (0,), input.dtype.real, *own)  # raises the errors of the parameters
            check_memory(input)
            raise not_implemented(kernel, input.dtype)
        return _fill(input, op, lambda shape: draw(source(named), shape, input.dtype, *own))

    return run


def _distribution(name: str, parameters: str, doc: str) -> Function:
    """A method that draws by the method of the same name of the generator."""

    def draw(generator: Generator, *given: Any) -> Array:
        made: Array = getattr(generator, name)(*given)
        return made

    grad_fn = f"{name.title().replace('_', '')}Backward0"
    return _method(f"{name}_", doc, (parameters, _filling(grad_fn, draw, "geometric_cpu" if name == "geometric" else "")))


_UNIFORM, _NORMAL = _record("UniformBackward0"), _record("NormalBackward0")
_BERNOULLI = Op(
    "BernoulliBackward1",
    lambda a, p: a * 0,
    "input p",
    saved="",
    input=ZERO,
    p=Rule(lambda xp, grad, p_shape, p_dtype: xp.zeros(p_shape, p_dtype), "zeros_like(p)"),
)


def _uniform(input: Tensor, low: float, high: float, given: Generator | None) -> Tensor:
    if input.dtype.is_complex and not input.array.size:  # PyTorch does not look at the bounds
        return _fill(input, _UNIFORM, lambda shape: np.empty(shape, input.array.dtype))
    return _fill(input, _UNIFORM, lambda shape: uniform(shape, input.dtype, given, low, high))


def _normal(input: Tensor, mean: float, std: float, given: Generator | None) -> Tensor:
    check_deviation(std)
    if input.array.size and not input.dtype.is_complex:
        require_floating("normal_kernel_cpu", input.dtype)
    contiguous = input.array.flags.c_contiguous
    return _fill(input, _NORMAL, lambda shape: normal(shape, input.dtype, given, mean, std, contiguous))


def _bernoulli_tensor(input: Tensor, p: Tensor, given: Generator | None) -> Tensor:
    if state.mapped:
        check_batch(input, "bernoulli_", (p,))
    check_same(p)
    check_memory(input)
    check_overlap(input, p)
    if input.array.size:
        if input.dtype.is_complex:
            raise not_implemented("bernoulli_tensor_cpu_self_", input.dtype)
        expanded_shape(p, input.array.shape)

    def write(array: Array) -> None:
        if not array.size:
            return
        chances = memory_format.in_order(np.broadcast_to(np.asarray(p.array), array.shape), array)
        memory_format.filled(array, lambda _: source(given).bernoulli(chances, None, input.dtype))

    if moves(p) and not moves(input):  # PyTorch writes no tangent
        p = Tensor(p.array, p.dtype)
    return in_place.write_part(input, _BERNOULLI, (p,), (), write)


def _integers(generator: Generator, shape: Sizes, dtype: DType, low: int, high: int | None) -> Array:
    return generator.randint(low, high, shape, dtype)


def _method(name: str, doc: str, *overloads: Overload) -> Function:
    signatures = [(f"Tensor input, {text}*, Generator? generator=None", run) for text, run in overloads]
    return Function(name, *signatures, doc=doc, function=False)


FUNCTIONS = (
    _method("uniform_", "Fill with uniform numbers.", ("float from=0.0, float to=1.0, ", _uniform)),
    _method("normal_", "Fill with normal numbers.", ("float mean=0.0, float std=1.0, ", _normal)),
    _method(
        "random_",
        "Fill with random integers.",
        ("", _integers_into("RandomBackward2", lambda generator, shape, dtype: generator.random_full(shape, dtype))),
        ("int from, int? to, ", _integers_into("RandomBackward0", _integers)),
        ("int to, ", _integers_into("RandomBackward1", lambda generator, shape, dtype, to: _integers(generator, shape, dtype, 0, to))),
    ),
    _method(
        "bernoulli_",
        "Fill with 0 and 1.",
        ("Tensor p, ", _bernoulli_tensor),
        (
            "float p=0.5, ",
            _filling(
                "BernoulliBackward2", lambda generator, shape, dtype, p: generator.bernoulli(p, shape, dtype), "bernoulli_scalar_cpu_"
            ),
        ),
    ),
    _distribution("geometric", "float p, ", "Fill with numbers of trials up to the first success."),
    _distribution("cauchy", "float median=0.0, float sigma=1.0, ", "Fill with Cauchy numbers."),
    _distribution("log_normal", "float mean=1.0, float std=2.0, ", "Fill with exponentials of normal numbers."),
    _distribution("exponential", "float lambd=1.0, ", "Fill with exponential numbers."),
)
