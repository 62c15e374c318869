"""Random tensors, number for number those of PyTorch's CPU generator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops.create.creation import check_rank, finish
from gradcli.core.ops.linalg.product_overloads import seeded
from gradcli.core.ops.shape.broadcasting import expanded_shape
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError


def _source(given: Generator | None) -> Generator:
    return generator.default if given is None else given


def _floating(dtype: DType, kernel: str) -> DType:
    if not dtype.is_floating_point:
        raise ProgramError("NotImplementedError", f"\"{kernel}\" not implemented for '{dtype.torch_name}'")
    return dtype


def _checked(name: str, size: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    check_rank(len(size))
    count = 1
    for n in size:
        if n < 0:
            raise ProgramError("RuntimeError", f"Trying to create tensor with negative dimension {n}: {list(size)}")
        count *= n
    limits.check_elements(count, dtype.itemsize)
    return size


def _uniform(size: tuple[int, ...], dtype: DType, source: Generator | None, low: float = 0.0, high: float = 1.0) -> Array:
    _floating(dtype, "check_uniform_bounds")
    return _source(source).uniform(size, dtype.np, low, high, bfloat16=dtype is dtypes.bfloat16)


def _normal(
    size: tuple[int, ...], dtype: DType, source: Generator | None, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
) -> Array:
    _floating(dtype, "normal_kernel_cpu")
    return _source(source).normal(size, dtype.np, mean, std, bfloat16=dtype is dtypes.bfloat16, contiguous=contiguous)


def _shaped(name: str, draw: Callable[..., Array]) -> Callable[..., Tensor]:
    def run(
        size: tuple[int, ...],
        generator: Any,
        dtype: DType | None,
        layout: Any,
        device: Any,
        pin_memory: bool,
        requires_grad: bool,
    ) -> Tensor:
        wanted = dtype or dtypes.get_default()
        return finish(draw(_checked(name, size, wanted), wanted, generator), wanted, requires_grad)

    return run


def _like(draw: Callable[..., Array]) -> Callable[..., Tensor]:
    def run(
        input: Tensor,
        generator: Any,
        memory_format: Any,
        dtype: DType | None,
        layout: Any,
        device: Any,
        pin_memory: bool,
        requires_grad: bool,
    ) -> Tensor:
        wanted = dtype or input.dtype
        return finish(draw(input.array.shape, wanted, generator), wanted, requires_grad)

    return run


def _randint(
    low: int,
    high: int,
    size: tuple[int, ...],
    generator: Any,
    dtype: DType | None,
    layout: Any,
    device: Any,
    pin_memory: bool,
    requires_grad: bool,
) -> Tensor:
    wanted = dtype or dtypes.int64
    return finish(_source(generator).randint(low, high, _checked("randint", size, wanted), wanted.np), wanted, requires_grad)


def _randint_to(high: int, *rest: Any) -> Tensor:
    return _randint(0, high, *rest)


def _randint_like(
    input: Tensor,
    low: int,
    high: int,
    generator: Any,
    memory_format: Any,
    dtype: DType | None,
    layout: Any,
    device: Any,
    pin_memory: bool,
    requires_grad: bool,
) -> Tensor:
    wanted = dtype or input.dtype
    return finish(_source(generator).randint(low, high, input.array.shape, wanted.np), wanted, requires_grad)


def _randint_like_to(input: Tensor, high: int, *rest: Any) -> Tensor:
    return _randint_like(input, 0, high, *rest)


def _randint_like_up_to(input: Tensor, high: Tensor, *rest: Any) -> Tensor:
    if high.array.ndim:
        raise ProgramError("RuntimeError", "high must be a scalar tensor and on CPU")
    return _randint_like(input, 0, int(high.item()), *rest)


def _randperm(n: int, generator: Any, dtype: DType | None, layout: Any, device: Any, pin_memory: bool, requires_grad: bool) -> Tensor:
    if n < 0:
        raise ProgramError("RuntimeError", f"Trying to create tensor with negative dimension {n}: [{n}]")
    wanted = dtype or dtypes.int64
    limits.check_elements(n, wanted.itemsize)
    return finish(_source(generator).randperm(n, wanted.np), wanted, requires_grad)


def _normal_tensors(mean: Any, std: Any, generator: Any) -> Tensor:
    given = mean if type(mean) is Tensor else std
    means = mean.array if type(mean) is Tensor else np.full(given.array.shape, mean, given.dtype.np)
    if type(std) is not Tensor and std < 0:
        raise ProgramError("RuntimeError", f"normal expects std >= 0.0, but found std {std:g}")
    stds = std.array if type(std) is Tensor else np.full(given.array.shape, std, given.dtype.np)
    return finish(_source(generator).normal_tensors(means, stds, given.dtype.np), given.dtype)


def _normal_numbers(
    mean: float,
    std: float,
    size: tuple[int, ...],
    generator: Any,
    dtype: DType | None,
    layout: Any,
    device: Any,
    pin_memory: bool,
    requires_grad: bool,
) -> Tensor:
    if std < 0:
        raise ProgramError("RuntimeError", f"normal expects std >= 0.0, but found std {std:g}")
    wanted = dtype or dtypes.get_default()
    return finish(_normal(_checked("normal", size, wanted), wanted, generator, mean, std), wanted, requires_grad)


def _bernoulli(input: Tensor, generator: Any) -> Tensor:
    return finish(_source(generator).bernoulli(input.array, input.array.shape, input.dtype.np), input.dtype)


def _bernoulli_p(input: Tensor, p: float, generator: Any) -> Tensor:
    return finish(_source(generator).bernoulli(p, input.array.shape, input.dtype.np), input.dtype)


def _multinomial(input: Tensor, num_samples: int, replacement: bool, generator: Any) -> Tensor:
    rows = input.array.shape[0] if input.array.ndim > 1 else 1
    limits.check_elements(rows * max(num_samples, 0), 8)
    return finish(_source(generator).multinomial(input.array, num_samples, replacement), dtypes.int64)


# --- in-place draws ---


def _layout(tensor: Tensor) -> tuple[tuple[int, ...], list[int], bool]:
    """Shape in memory order (PyTorch fills in that order), the way back to the tensor's order, and whether it is row-major."""
    array = tensor.array
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    return tuple(array.shape[i] for i in order), [order.index(i) for i in range(array.ndim)], array.flags.c_contiguous


def _fill(tensor: Tensor, grad_fn: str, draw: Callable[[tuple[int, ...], bool], Array]) -> Tensor:
    """Overwrite with random values drawn in memory order."""
    shape, back, contiguous = _layout(tensor)

    def write(array: Array) -> None:
        array[...] = draw(shape, contiguous).transpose(back)

    return in_place.write_part(tensor, _overwriting(grad_fn), (), (), write)


def _overwriting(grad_fn: str) -> Op:
    """The record of a draw in place: what was there before has no influence."""
    return Op(grad_fn, lambda a: a, "input", input=Rule(lambda xp, grad: xp.zeros_like(grad), "0 * grad"))


def _draw_float(input: Tensor, grad_fn: str, draw: Callable[..., Array], *options: float) -> Tensor:
    """Fill with draws of one of the generator's distributions."""
    return _fill(input, grad_fn, lambda shape, _: draw(shape, input.dtype.np, *options, bfloat16=input.dtype is dtypes.bfloat16))


def _uniform_(input: Tensor, low: float, high: float, generator: Any) -> Tensor:
    if low > high:
        raise ProgramError("RuntimeError", f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return _fill(input, "UniformBackward0", lambda shape, _: _uniform(shape, input.dtype, generator, low, high))


def _normal_(input: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    if std < 0:
        raise ProgramError("RuntimeError", f"normal expects std >= 0.0, but found std {std:g}")
    return _fill(input, "NormalBackward0", lambda shape, flat: _normal(shape, input.dtype, generator, mean, std, flat))


def _random_full(input: Tensor, generator: Any) -> Tensor:
    return _fill(input, "RandomBackward2", lambda shape, _: _source(generator).random_full(shape, input.dtype.np))


def _random_range(input: Tensor, low: int, high: int | None, generator: Any, name: str = "RandomBackward0") -> Tensor:
    return _fill(input, name, lambda shape, _: _source(generator).randint(low, high, shape, input.dtype.np))


def _random_to(input: Tensor, to: int, generator: Any) -> Tensor:
    return _random_range(input, 0, to, generator, "RandomBackward1")


def _bernoulli_p_(input: Tensor, p: float, generator: Any) -> Tensor:
    return _fill(input, "BernoulliBackward2", lambda shape, _: _source(generator).bernoulli(p, shape, input.dtype.np))


def _bernoulli_tensor_(input: Tensor, p: Tensor, generator: Any) -> Tensor:
    expanded_shape(p, input.array.shape)

    def write(array: Array) -> None:
        array[...] = _source(generator).bernoulli(p.array, array.shape, array.dtype)

    return in_place.write_part(input, _overwriting("BernoulliBackward1"), (), (), write)


def _exponential_(input: Tensor, lambd: float, generator: Any) -> Tensor:
    return _draw_float(input, "ExponentialBackward0", _source(generator).exponential, lambd)


def _geometric_(input: Tensor, p: float, generator: Any) -> Tensor:
    return _draw_float(input, "GeometricBackward0", _source(generator).geometric, p)


def _cauchy_(input: Tensor, median: float, sigma: float, generator: Any) -> Tensor:
    return _draw_float(input, "CauchyBackward0", _source(generator).cauchy, median, sigma)


def _log_normal_(input: Tensor, mean: float, std: float, generator: Any) -> Tensor:
    return _draw_float(input, "LogNormalBackward0", _source(generator).log_normal, mean, std)


_OPTIONS = "dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False"
_LIKE = f"memory_format? memory_format=None, {_OPTIONS}"
_method = functools.partial(Function, function=False)

FUNCTIONS = (
    Function("rand", *seeded("ints size", _OPTIONS, _shaped("rand", _uniform)), doc="Uniform on [0, 1).", method=False, out=True),
    Function("randn", *seeded("ints size", _OPTIONS, _shaped("randn", _normal)), doc="Standard normal.", method=False, out=True),
    Function("rand_like", *seeded("Tensor input", _LIKE, _like(_uniform)), doc="Uniform on [0, 1) in the same shape.", method=False),
    Function("randn_like", *seeded("Tensor input", _LIKE, _like(_normal)), doc="Standard normal in the same shape.", method=False),
    Function(
        "randint",
        *seeded("int high, ints size", _OPTIONS, _randint_to),
        *seeded("int low, int high, ints size", _OPTIONS, _randint),
        doc="Integers from low to high - 1.",
        method=False,
        out=True,
    ),
    Function(
        "randint_like",
        *seeded("Tensor input, int low, int high", _LIKE, _randint_like),
        *seeded("Tensor input, Tensor high", _LIKE, _randint_like_up_to),
        *seeded("Tensor input, int high", _LIKE, _randint_like_to),
        doc="Integers from low to high - 1 in the same shape.",
        method=False,
    ),
    Function("randperm", *seeded("int n", _OPTIONS, _randperm), doc="A permutation of 0 ... n - 1.", method=False, out=True),
    Function(
        "normal",
        ("Tensor mean, Tensor std, *, Generator? generator=None", _normal_tensors),
        ("Tensor mean, float std=1, *, Generator? generator=None", _normal_tensors),
        ("float mean, Tensor std, *, Generator? generator=None", _normal_tensors),
        (f"float mean, float std, ints size, *, Generator? generator=None, {_OPTIONS}", _normal_numbers),
        doc="Normal with the given means and deviations.",
        method=False,
        out=True,
    ),
    Function(
        "bernoulli",
        ("Tensor input, *, Generator? generator=None", _bernoulli),
        ("Tensor input, float p, *, Generator? generator=None |no out", _bernoulli_p),
        doc="1 with the probability that input gives.",
        out=True,
    ),
    Function(
        "multinomial",
        ("Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None", _multinomial),
        doc="Indices drawn with the weights of input.",
        out=True,
    ),
    _method(
        "uniform_",
        ("Tensor input, float from=0.0, float to=1.0, *, Generator? generator=None", _uniform_),
        doc="Fill with uniform numbers.",
    ),
    _method(
        "normal_", ("Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None", _normal_), doc="Fill with normal numbers."
    ),
    _method(
        "random_",
        ("Tensor input, *, Generator? generator=None", _random_full),
        ("Tensor input, int from, int? to, *, Generator? generator=None", _random_range),
        ("Tensor input, int to, *, Generator? generator=None", _random_to),
        doc="Fill with random integers.",
    ),
    _method(
        "bernoulli_",
        ("Tensor input, Tensor p, *, Generator? generator=None", _bernoulli_tensor_),
        ("Tensor input, float p=0.5, *, Generator? generator=None", _bernoulli_p_),
        doc="Fill with 0 and 1.",
    ),
    _method(
        "geometric_",
        ("Tensor input, float p, *, Generator? generator=None", _geometric_),
        doc="Fill with numbers of trials up to the first success.",
    ),
    _method(
        "cauchy_",
        ("Tensor input, float median=0.0, float sigma=1.0, *, Generator? generator=None", _cauchy_),
        doc="Fill with Cauchy numbers.",
    ),
    _method(
        "log_normal_",
        ("Tensor input, float mean=1.0, float std=2.0, *, Generator? generator=None", _log_normal_),
        doc="Fill with exponentials of normal numbers.",
    ),
    _method(
        "exponential_", ("Tensor input, float lambd=1.0, *, Generator? generator=None", _exponential_), doc="Fill with exponential numbers."
    ),
)
