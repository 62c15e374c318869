"""Random tensors, number for number those of PyTorch's CPU generator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Overload
from gradcli.core.functions.out import Out
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op
from gradcli.core.graph.write_checks import check_overlap, read_while_written, resized
from gradcli.core.kernels import Array, memory_format, selection
from gradcli.core.ops.checks import check_broadcast, common_shape, not_implemented, require_floating
from gradcli.core.ops.create.leaf import LIKE, OPTIONS, blank, check_new_sizes, check_sizes, leaf, making
from gradcli.core.ops.rules import ZERO, check_no_complex_gradient, check_no_tangent, not_differentiable, recorded
from gradcli.core.random import generator, rejection
from gradcli.core.random.checks import integer_range
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

Made = tuple[Array, DType]
Sizes = tuple[int, ...]


def source(given: Generator | None) -> Generator:
    """The generator that a call names, or the default one. Raises NotImplementedError for one within vmap that draws for each sample."""
    if given is not None and state.mapped and (drawing := state.mapped[-1].drawing) is not None:
        raise drawing.refused()
    return generator.default if given is None else given


def check_same(*tensors: Tensor) -> None:
    """Raise RuntimeError within vmap where all samples are to draw the same numbers, by tensors of which each sample has another."""
    if state.mapped and state.mapped[-1].drawing is None and any(state.mapped[-1].levels(tensor) for tensor in tensors):
        raise runtime_error(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
        )


def _of_parts(pairs: Array) -> Array:
    """Complex numbers of pairs of real ones."""
    return np.ascontiguousarray(pairs).view(np.complex64 if pairs.dtype == np.float32 else np.complex128)[..., 0]


def uniform(size: Sizes, dtype: DType, given: Generator | None, low: float = 0.0, high: float = 1.0) -> Array:
    """Uniform numbers from low to high; the parts of complex ones are. Raises NotImplementedError for integers and bool."""
    if dtype.is_complex:
        return _of_parts(uniform((*size, 2), dtype.real, given, low, high))
    require_floating("check_uniform_bounds", dtype)
    return source(given).uniform(size, dtype, low, high)


def normal(size: Sizes, dtype: DType, given: Generator | None, mean: float = 0.0, std: float = 1.0, contiguous: bool = True) -> Array:
    """Normal numbers; those of a tensor that is not contiguous are drawn one by one. Raises NotImplementedError as `uniform` does."""
    if dtype.is_complex:  # the variances of both parts add up to the whole
        return _of_parts(normal((*size, 2), dtype.real, given, mean, std / math.sqrt(2)))
    if 0 not in size:
        require_floating("normal_kernel_cpu", dtype)
    return source(given).normal(size, dtype, mean, std, contiguous=contiguous)


def check_deviation(std: Any) -> None:
    """Raise RuntimeError for a standard deviation that is negative or nan."""
    if not std >= 0:
        raise runtime_error(f"normal expects std >= 0.0, but found std {std:g}")


def _seeded(parameters: str, run: Callable[..., Made], options: str = OPTIONS) -> tuple[Overload, Overload]:
    """An overload with a generator and one without; `run` gets the generator, or None, after the values of `parameters`."""
    at = parameters.count(",") + 1
    late = "Tensor high" in parameters
    return (
        making(f"{parameters}, *, Generator? generator", run, options, late=late),
        making(f"{parameters}, *", lambda *values: run(*values[:at], None, *values[at:]), options, late=late),
    )


def _sized(draw: Callable[[Sizes, DType, Generator | None], Array]) -> Callable[..., Made]:
    def run(size: Sizes, given: Generator | None, dtype: DType | None) -> Made:
        wanted = dtype or dtypes.get_default()
        check_sizes(size, wanted)
        return draw(size, wanted, given), wanted

    return run


def _like(draw: Callable[[Sizes, DType, Generator | None], Array]) -> Callable[..., Made]:
    def run(input: Tensor, given: Generator | None, format: Any, dtype: DType | None) -> Made:
        wanted = dtype or input.dtype
        return memory_format.filled(blank(input, format, wanted), lambda size: draw(size, wanted, given)), wanted

    return run


def _normal_like(input: Tensor, given: Generator | None, format: Any, dtype: DType | None) -> Made:
    wanted = dtype or input.dtype
    array = blank(input, format, wanted)
    return memory_format.filled(array, lambda size: normal(size, wanted, given, contiguous=array.flags.c_contiguous)), wanted


# --- counts ---

_POISSON = Op("PoissonBackward0", lambda x: x, "input", jvp="elementwise", input=ZERO)
_BINOMIAL = not_differentiable("binomial", lambda x, y: x, "count prob")


def _poisson(input: Tensor, given: Generator | None) -> Tensor:
    check_same(input)
    require_floating("poisson_cpu", input.dtype)
    drawn = rejection.each(rejection.poisson, source(given), np.asarray(input.array))
    drawn = np.where(drawn < 2.0**63, drawn, -(2.0**63))  # PyTorch's are integers of 64 bits
    return recorded(_POISSON, leaf(dtypes.cast(drawn, input.dtype), input.dtype), input)


def _binomial(count: Tensor, prob: Tensor, given: Generator | None) -> Tensor:
    check_no_tangent("aten::binomial", count, prob)
    check_same(count, prob)
    for name, tensor in (("count", count), ("prob", prob)):
        if not tensor.dtype.is_floating_point:
            text = f"binomial only supports floating-point dtypes for {name}, got: {tensor.dtype.torch_name}"
            raise ProgramError("ValueError", text)
    check_broadcast([count.array, prob.array])
    if count.dtype is not prob.dtype:
        raise runtime_error(f"Found dtype {prob.dtype.torch_name} but expected {count.dtype.torch_name}")
    counts, probs = np.broadcast_arrays(count.array, prob.array)
    grown = counts.shape != count.array.shape
    if grown and count.array.size:
        warnings.emit(resized(count.array.shape, counts.shape))
    if count.dtype in (dtypes.float16, dtypes.bfloat16):
        raise not_implemented("binomial_cpu", count.dtype)
    operands, shape = [count.array, prob.array], counts.shape
    strides = memory_format.iterated(shape, operands) if grown else memory_format.contiguous_strides(shape)
    order = memory_format.outer_first(shape, strides, operands)
    drawn = rejection.each(rejection.binomial, source(given), counts.transpose(order), probs.transpose(order))
    drawn = memory_format.laid_out(drawn.transpose(np.argsort(order)), strides)
    return recorded(_BINOMIAL, leaf(dtypes.cast(drawn, count.dtype), count.dtype), count, prob)


# --- integers ---


def _randint(low: int, high: int, size: Sizes, given: Generator | None, dtype: DType | None) -> Made:
    wanted = dtype or dtypes.int64
    check_sizes(size, wanted)
    if wanted.is_complex:
        integer_range(low, high, dtypes.int64)
        raise runtime_error("check_random_bounds handles only integral, floating-point and boolean types")
    return source(given).randint(low, high, size, wanted), wanted


def _randint_like(input: Tensor, low: int, high: int, given: Generator | None, format: Any, dtype: DType | None) -> Made:
    return _like(lambda size, wanted, given: source(given).randint(low, high, size, wanted))(input, given, format, dtype)


def _randint_like_to(input: Tensor, high: int | Tensor, *rest: Any) -> Made:
    if type(high) is Tensor:
        if high.array.ndim:
            raise runtime_error("high must be a scalar tensor and on CPU")
        high = int(scalar_of(high.item(), dtypes.int64))
    return _randint_like(input, 0, high, *rest)  # type: ignore[arg-type]


def _randperm(n: int, given: Generator | None, dtype: DType | None) -> Made:
    wanted = dtype or dtypes.int64
    check_sizes((n,), wanted)
    return source(given).randperm(n, wanted), wanted


# --- distributions whose parameters are tensors ---


# PyTorch gives what is drawn a derivative of 0 by the parameters
_BERNOULLI = Op("BernoulliBackward0", lambda x: x, "input", jvp="elementwise", input=ZERO)
_BERNOULLI_P = not_differentiable("bernoulli", lambda x: x, "input")
_NORMAL_MEAN = Op("NormalBackward1", lambda x: x, "mean", saved="mean_sym_sizes", jvp="elementwise", mean=ZERO)
_NORMAL_STD = Op("NormalBackward2", lambda x: x, "std", saved="std_sym_sizes", jvp="elementwise", std=ZERO)
_NORMAL_BOTH = Op(
    "NormalBackward3", lambda x, y: x, "mean std", saved="mean_sym_sizes std_sym_sizes", jvp="elementwise", mean=ZERO, std=ZERO
)


def _check_deviations(std: Tensor) -> None:
    if std.dtype.is_complex:
        raise runtime_error("normal expects standard deviation to be non-complex")
    if std.array.size and not (std.array >= 0).all():
        raise runtime_error("normal expects all elements of std >= 0.0")


def _normal_tensors(mean: Any, std: Any, given: Generator | None) -> Tensor:
    like = mean if type(mean) is Tensor else std
    check_same(*(value for value in (mean, std) if type(value) is Tensor))
    if type(std) is not Tensor:
        check_deviation(std)
        if like.array.size:
            require_floating("normal_kernel_cpu", like.dtype)
    else:
        _check_deviations(std)
        if type(mean) is Tensor:
            check_broadcast([mean.array, std.array])
        else:
            scalar_of(mean, std.dtype)
    means, stds = (np.asarray(v.array) if type(v) is Tensor else np.full(like.array.shape, v, like.dtype.np) for v in (mean, std))
    if type(std) is not Tensor:
        stds = std  # deviations of one number are scaled before the mean is added, which makes no zero negative
    made = leaf(source(given).normal_tensors(means, stds, like.dtype), like.dtype)
    if type(mean) is Tensor and type(std) is Tensor:
        return recorded(_NORMAL_BOTH, made, mean, std)
    return recorded(_NORMAL_MEAN if type(mean) is Tensor else _NORMAL_STD, made, like)


def _normal_numbers(mean: float, std: float, size: Sizes, given: Generator | None, dtype: DType | None) -> Made:
    wanted = dtype or dtypes.get_default()
    check_sizes(size, wanted)
    check_deviation(std)
    return normal(size, wanted, given, mean, std), wanted


def _bernoulli(input: Tensor, given: Generator | None) -> Tensor:
    check_same(input)
    if input.dtype.is_complex and input.array.size:
        raise not_implemented("bernoulli_tensor_cpu_self_", input.dtype)
    check_no_complex_gradient("bernoulli", input)
    return recorded(_BERNOULLI, leaf(source(given).bernoulli(np.asarray(input.array), input.array.shape, input.dtype), input.dtype), input)


def _bernoulli_p(input: Tensor, p: float, given: Generator | None) -> Tensor:
    check_no_tangent("aten::bernoulli", input)
    check_same(input)
    if input.dtype.is_complex:
        source(given).bernoulli(p, (0,), input.dtype.real)  # raises the error of the probability
        if input.array.size:
            raise ProgramError("NotImplementedError", f"\"bernoulli_scalar_cpu_\" not implemented for '{input.dtype.torch_name}'")
    return recorded(_BERNOULLI_P, leaf(source(given).bernoulli(p, input.array.shape, input.dtype), input.dtype), input)


def _multinomial(input: Tensor, num_samples: int, replacement: bool, given: Generator | None) -> Tensor:
    check_same(input)
    count = input.array.shape[0] if input.array.ndim > 1 else 1
    limits.check_elements(count * max(num_samples, 0), 8)
    drawn = source(given).multinomial(
        np.asarray(input.array),
        num_samples,
        replacement,
        input.dtype,
        lambda scores, k: selection.top(scores, scores.ndim - 1, k, True, True),
    )
    return leaf(drawn, dtypes.int64)


_GENERATOR = "*, Generator? generator=None"
_COUNTS = "Generator? generator=None"


def _check_order(out: Tensor, result: Tensor) -> None:
    """Raise NotImplementedError for an `out` whose elements PyTorch would draw in another order, that of their memory."""
    if out.array.shape == result.array.shape and not out.array.flags.c_contiguous:
        raise ProgramError("NotImplementedError", "random numbers into an out that is not contiguous are not part of gradcli")


def _check_resizable(values: list[Any], out: Tensor) -> None:
    if out.requires_grad:
        raise runtime_error("cannot resize variables that require grad")
    check_new_sizes(values, out)
    if state.dual is not None and state.dual.tangent_of(out) is not None:
        raise runtime_error("cannot resize variables that has a forward grad")


_DRAWN = Out(autograd="fallback", silent=True, inspect=check_new_sizes, check=_check_order)
#: PyTorch writes `randn`, and `rand` with a generator, as calls of functions that it follows
_DRAWN_IN_PLACE = Out(autograd="fallback", silent=True, counted=True, prepare=_check_resizable, check=_check_order)


def _rand_out(*values: Any) -> Out:
    return _DRAWN_IN_PLACE if len(values) > 6 else _DRAWN


def _check_count(values: list[Any], out: Tensor) -> None:
    n: int = values[0]
    if n < 0:
        raise shape_error(f"n must be non-negative, got{n}")
    if out.dtype.is_complex:
        raise not_implemented("randperm", out.dtype)


_PERMUTATION = Out(autograd="fallback", silent=True, memory="unchecked", inspect=_check_count)


def _normal_into(mean: Any, std: Any, given: Generator | None, out: Tensor) -> Tensor:
    """PyTorch draws into `out`, then multiplies it by the deviations and adds the means."""
    check_same(*(value for value in (mean, std) if type(value) is Tensor))
    operands = [value.array for value in (mean, std) if type(value) is Tensor]
    if type(std) is Tensor:
        _check_deviations(std)
    else:
        check_deviation(std)
        operands.append(out.array)
    shape = common_shape([a.shape for a in operands])
    if out.array.shape != shape and any(np.shares_memory(out.array, a) for a in operands if a is not out.array):
        raise read_while_written()
    limits.check_elements(math.prod(shape), out.dtype.itemsize)
    in_place.resize_to(out, shape)
    _check_order(out, out)
    version = out.counter().count
    drawn = catalog.method("normal_").method(out, (0.0, 1.0 if type(std) is Tensor else std), {"generator": given})
    if type(std) is Tensor:
        drawn = catalog.method("mul_").method(drawn, (std,), {})
    added = mean if type(mean) is Tensor else Tensor(np.array(scalar_of(mean, out.dtype), out.dtype.np), out.dtype)
    catalog.method("add_").method(drawn, (added,), {})
    out.counter().count = version + 1  # all of it is one write
    return out


def _normal_out(mean: Any, std: Any, *_: Any) -> Out:
    return Out(operator="normal", steps=_normal_into) if type(mean) is Tensor or type(std) is Tensor else _DRAWN


def _check_kernel(values: list[Any], out: Tensor) -> None:
    if out.array.shape == values[0].array.shape:
        check_overlap(out, values[0])
    if out.dtype.is_complex and values[0].array.size:
        raise not_implemented("bernoulli_tensor_cpu_self_", out.dtype)
    if values[0].dtype.is_complex and values[0].array.size:
        raise not_implemented("bernoulli_tensor_cpu_p_", values[0].dtype)


def _multinomial_out(input: Tensor, *_: Any) -> Out:
    first = input.dtype.is_floating_point and input.array.ndim in (1, 2)  # PyTorch checks these first
    return Out("multinomial expects Long tensor out, got: {out}", dtype=dtypes.int64, first=first, silent=True)


FUNCTIONS = (
    Function("rand", *_seeded("ints size", _sized(uniform)), doc="Uniform on [0, 1).", method=False, out=_rand_out),
    Function("randn", *_seeded("ints size", _sized(normal)), doc="Standard normal.", method=False, out=_DRAWN_IN_PLACE),
    Function("rand_like", *_seeded("Tensor input", _like(uniform), LIKE), doc="Uniform on [0, 1) in the same shape.", method=False),
    Function("randn_like", *_seeded("Tensor input", _normal_like, LIKE), doc="Standard normal in the same shape.", method=False),
    Function(
        "randint",
        *_seeded("symint high, ints size", lambda high, *rest: _randint(0, high, *rest)),
        *_seeded("symint low, symint high, ints size", _randint),
        doc="Integers from low to high - 1.",
        method=False,
        out=_DRAWN,
    ),
    Function(
        "randint_like",
        *_seeded("Tensor input, symint low, symint high", _randint_like, LIKE),
        *_seeded("Tensor input, Tensor high", _randint_like_to, LIKE),
        *_seeded("Tensor input, int high", _randint_like_to, LIKE),
        doc="Integers from low to high - 1 in the same shape.",
        method=False,
    ),
    Function("randperm", *_seeded("symint n", _randperm), doc="A permutation of 0 ... n - 1.", method=False, out=_PERMUTATION),
    Function(
        "normal",
        (f"Tensor mean, Tensor std, {_GENERATOR}", _normal_tensors),
        (f"Tensor mean, float std=1, {_GENERATOR}", _normal_tensors),
        (f"float mean, Tensor std, {_GENERATOR}", _normal_tensors),
        making(f"float mean, float std, ints size, {_GENERATOR}", _normal_numbers),
        doc="Normal with the given means and deviations.",
        method=False,
        out=_normal_out,
    ),
    Function(
        "bernoulli",
        (f"Tensor input, {_GENERATOR}", _bernoulli),
        (f"Tensor input, float p, {_GENERATOR} |no out", _bernoulli_p),
        doc="1 with the probability that input gives.",
        out=Out(lower=None, operator="bernoulli", silent=True, inspect=_check_kernel, check=_check_order),
    ),
    Function(
        "multinomial",
        (f"Tensor input, symint num_samples, bool replacement=False, {_GENERATOR}", _multinomial),
        doc="Indices drawn with the weights of input.",
        out=_multinomial_out,
    ),
    Function("poisson", (f"Tensor input, {_COUNTS}", _poisson), doc="Counts of Poisson distributions with the rates input.", method=False),
    Function(
        "binomial",
        (f"Tensor count, Tensor prob, {_COUNTS}", _binomial),
        doc="Counts of successes in count trials, each with the probability prob.",
        method=False,
    ),
)
