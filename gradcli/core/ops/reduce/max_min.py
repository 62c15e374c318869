"""The largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.kernels.summation import total
from gradcli.core.ops.checks import refuse_complex, wrap_dim, wrap_dims
from gradcli.core.ops.elementwise import scalars
from gradcli.core.ops.elementwise.divide_remainder import DIV
from gradcli.core.ops.elementwise.maximum import MAXIMUM, MINIMUM
from gradcli.core.ops.index.selection import SHARED, Selection, check_nonempty, of_nothing, read_evenly, reducing, result, spread_evenly
from gradcli.core.ops.rules import check_no_complex_gradient
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.tensor.text import formatted
from gradcli.errors import UNMET, ProgramError, runtime_error, shape_error

_EVEN = "shared equally among the elements that are the extremum"
_FIRST = "to the first of equal elements"


def _check_all(name: str, x: Tensor) -> None:
    if not x.array.size:
        raise runtime_error(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        )


def _picked(where: Callable[..., Any]) -> Callable[[Array, int], tuple[Array, Array]]:
    def run(x: Array, dim: int) -> tuple[Array, Array]:
        if not x.size:
            return of_nothing(x, dim)
        index = np.expand_dims(where(x, axis=dim), dim)
        return np.take_along_axis(x, index, dim), index

    return run


#: how many numbers of a size in bytes the library compares at a time
_LANES = {2: 16, 4: 8, 8: 4}


def _bits_reversed(lane: Array, bits: int) -> Array:
    """The numbers with their lowest `bits` bits in reversed order."""
    return np.asarray(np.bitwise_or.reduce([(lane >> bit & 1) << bits - 1 - bit for bit in range(bits)]))


def _of_all(reduce: Callable[..., Any], x: Array) -> Array:
    """The extremum of all elements; of zeros it is the one that PyTorch's vector code has.

    In each lane of a vector the last of equal numbers wins. Then the lanes are compared: one after the other in double precision, and
    where the elements fill no vector, so that the last lane wins; else the upper half with the lower, and so on with what is left.
    """
    found = np.asarray(reduce(x))
    if found or not x.size or x.dtype.kind != "f":
        return found
    flat = x.ravel()
    zeros = np.flatnonzero(flat == 0)
    width = _LANES[x.dtype.itemsize]
    lanes = zeros % (8 if flat.size < width else width)
    if flat.size >= width > 4:
        lanes = _bits_reversed(lanes, width.bit_length() - 1)
    return np.asarray(flat[zeros[lanes == lanes.max()][-1]])


def _whole(grad_fn: str, reduce: Callable[..., Any]) -> Op:
    return Op(
        grad_fn,
        lambda x: _of_all(reduce, x),
        "input",
        jvp=read_evenly,
        input=Rule(lambda xp, grad, input, out, input_dtype: spread_evenly(xp, grad, input, out, input_dtype), SHARED, _EVEN),
    )


MAX_ALL = _whole("MaxBackward1", np.max)
MIN_ALL = _whole("MinBackward1", np.min)
MAX_DIM = reducing("MaxBackward0", _picked(np.argmax), note=_FIRST)
MIN_DIM = reducing("MinBackward0", _picked(np.argmin), note=_FIRST)


def _ties_rule(xp: Any, grad: Any, input: Any, out: Any, dim: Any, keepdim: bool) -> Any:
    x, value = xp.plain(input), xp.plain(out)
    shape = x.shape
    dims = wrap_dims(dim, len(shape))
    if not keepdim:
        value = np.expand_dims(value, dims)
        # without dim PyTorch restores no dimension: the gradient keeps its shape
        grad = xp.reshape(grad, value.shape if shape and dim else (1,) * len(dim))
    mask = np.equal(x, value)
    count = np.asarray(total(mask, axis=dims, keepdims=True)).astype(x.dtype)
    # where the extremum is nan no element equals it: the gradient is 0 / 0, which is nan
    return scalars.times_data(xp, xp.call(DIV, grad, count), mask.astype(x.dtype))


def _first(reduce: Callable[..., Any], x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """The reduction along dimensions; where both zeros are the extremum it is the first of them, which numpy does not promise."""
    found = np.asarray(reduce(x, axis=dims, keepdims=keepdim))
    if found.all() or not x.ndim:
        return found
    ordered = np.moveaxis(x, dims, range(-len(dims), 0))
    ordered = ordered.reshape(*ordered.shape[: x.ndim - len(dims)], -1)
    zero = np.take_along_axis(ordered, (ordered == 0).argmax(-1)[..., None], -1)
    return np.where(found == 0, zero.reshape(found.shape), found)


def _along(grad_fn: str, reduce: Callable[..., Any]) -> Op:
    return Op(
        grad_fn,
        lambda x, dim, keepdim: _first(reduce, x, wrap_dims(dim, x.ndim), keepdim),
        "input",
        "dim keepdim",
        layout="contiguous",
        input=Rule(
            _ties_rule, "s = input.sum(dim, True).shape; at = input == out.reshape(s); grad.reshape(s) / at.sum(dim, True) * at", _EVEN
        ),
    )


AMAX = _along("AmaxBackward0", np.max)
AMIN = _along("AminBackward0", np.min)


def _amax_or_amin(name: str, op: Op) -> Callable[..., Any]:
    def run(input: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
        if dim:
            for d in dim:
                at = wrap_dim(d, input.array.ndim)
                if input.array.ndim and not input.array.shape[at]:
                    raise shape_error(f"{name}(): Expected reduction dim {formatted(d)} to have non-zero size.", "IndexError")
        elif not input.array.size:
            _check_all(name, input)
        if input.dtype.is_complex and not input.array.size:  # PyTorch's kernel, which refuses complex numbers, is not reached
            check_no_complex_gradient(name, input)
            return Tensor(op.forward(input.array, tuple(dim), keepdim), input.dtype)
        return op(input, tuple(dim or ()), keepdim)

    return run


def _both_rule(xp: Any, grads: Any, input: Any, min: Any, max: Any, dim: Any, keepdim: bool) -> Any:
    """The sum of the gradients of amin and amax."""
    summed: Any = None
    dims = () if dim is None else (dim,)
    for grad, value in zip(grads, (min, max), strict=True):
        if grad is not None:
            part = _ties_rule(xp, grad, input, value, dims, keepdim)
            summed = part if summed is None else summed + part
    return summed


def _both(x: Array, dim: Any, keepdim: bool) -> tuple[Array, Array]:
    if dim is None:
        shape = (1,) * x.ndim if keepdim else ()
        return _of_all(np.min, x).reshape(shape), _of_all(np.max, x).reshape(shape)
    dims = (wrap_dim(dim, x.ndim),) if x.ndim else ()
    return _first(np.min, x, dims, keepdim), _first(np.max, x, dims, keepdim)


AMINMAX = Op(
    "AminmaxBackward0",
    _both,
    "input",
    "dim keepdim",
    outputs="min max",
    differentiable=2,
    layout="contiguous",
    input=Rule(
        _both_rule,
        "s = input.sum(dim, True).shape; low = input == min.reshape(s); high = input == max.reshape(s); "
        "grads[0].reshape(s) / low.sum(dim, True) * low + grads[1].reshape(s) / high.sum(dim, True) * high",
        _EVEN,
    ),
)


def aminmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> NamedResult:
    """The smallest and the largest elements, of all or along dim, as a pair (min, max)."""
    if dim is None and not input.array.size:
        raise shape_error("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")
    if dim is not None:
        at = wrap_dim(dim, input.array.ndim)
        if input.array.ndim and not input.array.shape[at]:
            raise shape_error(f"aminmax: Expected reduction dim {at} to have non-zero size.", "IndexError")
    return named("aminmax", "min", "max")(AMINMAX(input, dim, keepdim))


def _resizing_input(compute: Callable[..., Any]) -> Callable[[list[Any], Any], None]:
    """Give `out` its shape where it is the input too, which PyTorch then reduces in that shape."""

    def resize(values: list[Any], outs: Any) -> None:
        if all(out is not values[0] for out in outs):
            return
        for out, part in zip(outs, compute(*values), strict=True):
            if out.dtype is not part.dtype:
                return  # an error follows
            in_place.resize_out(out, part)

    return resize


def _aminmax_out(input: Tensor, dim: int | None, keepdim: bool) -> Out:
    checked = input.array.ndim > 0 and dim is not None
    return Out(EXACT, inspect=_resizing_input(aminmax), memory="resized" if checked else "unchecked", overlap="partial")


def _arg(name: str, where: Callable[..., Any]) -> Callable[..., Tensor]:
    def run(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        refuse_complex(name, input.dtype)
        if input.dtype is dtypes.bool_:
            raise runtime_error(f"{name}(): does not support bool input")
        if dim is None:
            if not input.array.size:
                raise ProgramError("IndexError", f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            return wrap(np.asarray(where(input.array), np.int64).reshape((1,) * input.array.ndim if keepdim else ()))
        check_nonempty(name, input, dim)
        at = wrap_dim(dim, input.array.ndim)
        if not input.array.ndim:
            return wrap(np.zeros((), np.int64))
        index = _picked(where)(input.array, at)[1]
        return wrap(index if keepdim else np.asarray(index.squeeze(at)))

    return run


_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]
_N = [[1.5, -2.5, 0.5], [0.75, 3.0, -1.0]]


_UNCASTABLE = UNMET.format("canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype()))")


def _max_or_min(
    name: str, whole: Op, along: Selection, pair: Op, most: str, more: str, reference: Callable[..., Any], pairs: np.ufunc
) -> Function:
    """max or min, of all elements, along a dimension and of two tensors."""

    def of_all(input: Tensor) -> Any:
        _check_all(name, input)
        return whole(input)

    def of_two(input: Tensor, other: Tensor) -> Any:
        if dtypes.result_type((input, other)).is_complex:
            raise runtime_error(f"{name}imum not implemented for complex tensors.")
        return pair(input, other)

    def of_dim(input: Tensor, dim: int, keepdim: bool = False) -> NamedResult:
        check_nonempty(name, input, dim)
        if input.dtype.is_complex:
            raise runtime_error(f"{name}(): does not support complex input")
        return result(name, along(input, dim, keepdim))

    def of_nothing_into(values: list[Any], out: Tensor) -> None:
        """Where there are no elements, fill `out` with the number that every other one replaces."""
        if not values[0].array.size and not values[0].dtype.is_complex:
            kind = values[0].dtype.np
            limits: Any = (False, True) if kind == np.bool_ else (-np.inf, np.inf) if kind.kind == "f" else np.iinfo(kind)
            low, high = limits if isinstance(limits, tuple) else (limits.min, limits.max)
            values[0] = Tensor(np.array(low if name == "max" else high, kind), values[0].dtype)

    def out_rule(input: Tensor, other: Any = None, *_: Any) -> Out:
        if other is None:
            return Out(lower=_UNCASTABLE, first=True, memory="resized", overlap="", inspect=of_nothing_into)
        if type(other) is Tensor:
            return Out(operator=f"{name}imum")
        return Out(EXACT, memory="resized", overlap="partial", inspect=_resizing_input(of_dim))

    return Function(
        name,
        ("Tensor input", of_all),
        ("Tensor input, Tensor other", of_two),
        ("Tensor input, int dim, bool keepdim=False |2 outs", of_dim),
        doc=f"The {most} element; along dim, values and indices; of two tensors, the {more} of each pair.",
        ops=(whole, along, pair),
        samples=(
            Sample(f"{name}(x)", reference, x=_M),
            Sample(f"x.{name}(dim=1).values", lambda x: reference(x, axis=1), x=_M),
            Sample(f"{name}(x, 0, keepdim=True)[0]", lambda x: reference(x, axis=0, keepdims=True), x=_M),
            Sample(f"{name}(x, y)", pairs, x=_M, y=_N),
        ),
        out=out_rule,
    )


_EXTREMA = Out(
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype.",
    first=True,
    memory="unchecked",
)

FUNCTIONS = (
    _max_or_min("max", MAX_ALL, MAX_DIM, MAXIMUM, "largest", "larger", np.max, np.maximum),
    _max_or_min("min", MIN_ALL, MIN_DIM, MINIMUM, "smallest", "smaller", np.min, np.minimum),
    *(
        Function(
            name,
            ("Tensor input, ints1? dim=(), bool keepdim=False", _amax_or_amin(name, op)),
            doc=f"The {adjective} elements along dimensions; their gradient is shared equally among ties.",
            ops=(op,),
            samples=(
                Sample(f"{name}(x)", reference, x=_M),
                Sample(f"x.{name}(1)", lambda x, reference=reference: reference(x, axis=1), x=_M),
                Sample(f"{name}(x, (0, 1), keepdim=True)", lambda x, reference=reference: reference(x, keepdims=True), x=_M),
            ),
            out=_EXTREMA,
        )
        for name, op, adjective, reference in (("amax", AMAX, "largest", np.max), ("amin", AMIN, "smallest", np.min))
    ),
    Function(
        "aminmax",
        ("Tensor input, *, int? dim=None, bool keepdim=False |2 outs", aminmax),
        doc="The smallest and the largest elements, as a pair (min, max).",
        ops=(AMINMAX,),
        samples=(Sample("aminmax(x).max", np.max, x=_M), Sample("x.aminmax(dim=0).min", lambda x: np.min(x, 0), x=_M)),
        out=_aminmax_out,
    ),
    Function(
        "argmax",
        ("Tensor input, int? dim=None, bool keepdim=False", _arg("argmax", np.argmax)),
        doc="The index of the largest element, the first of equal ones.",
        samples=(Sample("argmax(tensor([1., 3., 2.]))"),),
        out=Out(EXACT, dtype=dtypes.int64, memory="unchecked"),
    ),
    Function(
        "argmin",
        ("Tensor input, int? dim=None, bool keepdim=False", _arg("argmin", np.argmin)),
        doc="The index of the smallest element, the first of equal ones.",
        samples=(Sample("argmin(tensor([1., 3., 2.]))"),),
        out=Out(EXACT, dtype=dtypes.int64, memory="unchecked"),
    ),
)
