"""Comparisons and logic, whose results are bool and have no derivative: eq, lt, isclose, isin, logical_and and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Overload, Sample
from gradcli.core.functions.out import EXACT, Out
from gradcli.core.graph.pointwise import Pointwise, check_fit
from gradcli.core.graph.record import NONDIFF, Op, Rule
from gradcli.core.kernels import Array, memory_format
from gradcli.core.ops.checks import Operand, check_no_samples
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error


def _compare(name: str, forward: np.ufunc, complex: bool | None = None) -> Pointwise:
    return Pointwise(f"{name}Backward0", forward, "input other", kind="compare", complex=complex, input=NONDIFF, other=NONDIFF)


EQ, NE = _compare("Eq", np.equal, True), _compare("Ne", np.not_equal, True)
LT, LE, GT, GE = (_compare(*row) for row in (("Lt", np.less), ("Le", np.less_equal), ("Gt", np.greater), ("Ge", np.greater_equal)))


def _comparison(op: Pointwise, mirrored: Pointwise) -> Callable[[Operand, Operand], Tensor]:
    """An elementwise comparison; `mirrored` takes a number on the left to the right."""

    def run(a: Operand, b: Operand) -> Tensor:
        return op(a, b) if type(a) is Tensor else mirrored(b, a)

    return run


eq, ne = _comparison(EQ, EQ), _comparison(NE, NE)
lt, le, gt, ge = _comparison(LT, GT), _comparison(LE, GE), _comparison(GT, LT), _comparison(GE, LE)


_NO_ALLCLOSE = (
    "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
    "feature."
)


def equal(a: Tensor, b: Tensor) -> bool:
    """Whether shapes and values are the same."""
    check_no_samples((a, b), "Batching rule not implemented for aten::equal. We could not generate a fallback.")
    return a.array.shape == b.array.shape and bool(np.array_equal(a.array, b.array))


def _close(a: Tensor, b: Tensor, rtol: float, atol: float, equal_nan: bool) -> Any:
    if a.dtype is not b.dtype:
        raise runtime_error(f"{a.dtype.torch_name} did not match {b.dtype.torch_name}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise runtime_error(f"{name} must be greater than or equal to zero, but got {tolerance:g}")
    check_fit(a.array, b.array)
    x, y = a.array, b.array
    close = np.equal(x, y)
    if not a.dtype.is_differentiable:
        x, y = x.astype(np.float64), y.astype(np.float64)
    elif equal_nan:
        close = close | (np.isnan(x) & np.isnan(y))
    apart = np.abs(np.subtract(x, y))
    return close | (np.isfinite(apart) & (apart <= atol + np.abs(rtol * y)))


def isclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """`|a - b| <= atol + rtol * |b|`, elementwise."""
    return wrap(memory_format.like_operands(_close(a, b, rtol, atol, equal_nan), (a.array, b.array)))


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    check_no_samples((a, b), _NO_ALLCLOSE)
    return bool(_close(a, b, rtol, atol, equal_nan).all())


def _check_kinds(values: Sequence[Any], out: Tensor | None = None) -> None:
    for x in values[:2]:
        kind = x.dtype if type(x) is Tensor else {bool: dtypes.bool_, complex: dtypes.complex128}.get(type(x))
        if kind is not None and (kind.is_complex or kind is dtypes.bool_):
            raise runtime_error(f"Unsupported input type encountered for isin(): {kind.torch_name}")


def _isin_out(elements: Operand, *_: Any) -> Out:
    """How `isin` takes `out`, which PyTorch makes empty first where it looks for a number."""
    if type(elements) is Tensor:
        return Out(EXACT, dtype=dtypes.bool_)
    return Out(EXACT, dtype=dtypes.bool_, first=True, inspect=_check_kinds, shape=lambda _: (0,))


def _own_dtype(value: Operand) -> DType:
    return value.dtype if type(value) is Tensor else dtypes.int64 if type(value) is int else dtypes.float64


def isin(elements: Operand, test_elements: Operand, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which of `elements` occur in `test_elements`; with `invert`, which do not."""
    _check_kinds((elements, test_elements))
    left, right = (np.asarray(x.array if type(x) is Tensor else x) for x in (elements, test_elements))
    sorts = right.size >= int(10.0 * left.size**0.145)
    # PyTorch joins what it sorts in one vector, where a number or a 0-d tensor has a dtype of its own
    dtype = dtypes.promote(*map(_own_dtype, (elements, test_elements))) if sorts else dtypes.result_type((elements, test_elements))
    left, right = dtypes.cast(left, dtype), dtypes.cast(right, dtype)
    if sorts and assume_unique:
        return wrap(_by_sorting(left, right, invert))
    if type(test_elements) is Tensor and left.size and not sorts:
        catalog.method("view").method(catalog.method("to").method(test_elements, (dtype,), {}), (right.size,), {})
    return wrap(np.asarray(np.isin(left, right, invert=invert)))


def _by_sorting(left: Array, right: Array, invert: bool) -> Array:
    """As PyTorch finds elements that are unique in many others: all are sorted, and each is compared with the next one."""
    every = np.concatenate([left.ravel(), right.ravel()])
    order = np.argsort(every, kind="stable")
    ordered = every[order]
    found = np.empty(every.size, bool)
    found[order] = np.append((ordered[1:] != ordered[:-1]) if invert else (ordered[1:] == ordered[:-1]), invert)
    return found[: left.size].reshape(left.shape)


def logical_not(input: Tensor) -> Tensor:
    """Elementwise `not`."""
    return wrap(memory_format.like_operands(np.asarray(np.logical_not(input.array)), (input.array,)))


def _logical(name: str, forward: np.ufunc) -> Function:
    def run(a: Tensor, b: Tensor) -> Tensor:
        check_fit(a.array, b.array)
        return wrap(memory_format.like_operands(forward(a.array, b.array), (a.array, b.array)))

    def write(a: Tensor, b: Tensor) -> Tensor:
        made = run(a, b)
        _warn_of_complex(a, made, a, b)
        return made

    return Function(
        f"logical_{name}",
        (_TENSORS, run),
        doc=f"Elementwise {name} of truth values.",
        written=((_TENSORS, write),),
        out=_comparison_out,
        unseen=True,
    )


def _comparison_out(a: Tensor, b: Operand) -> Out:
    return Out(dtype=dtypes.bool_, check=lambda out, made: _warn_of_complex(Tensor(made.array, out.dtype), made, a, b))


def _warn_of_complex(written: Tensor, made: Tensor, *operands: Operand) -> None:
    """Warn where a comparison with complex numbers is written into a real tensor, which PyTorch converts to complex and back."""
    if made.array.shape != written.array.shape:
        return  # an error follows
    if made.array.size and not written.dtype.is_complex and written.dtype is not dtypes.bool_ and dtypes.result_type(operands).is_complex:
        warnings.imaginary_discarded()


_TRUTH = Out(dtype=dtypes.bool_)
_TENSORS, _BY_NUMBER = "Tensor input, Tensor other", "Tensor input, Number other"
_CLOSE = "Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False"


def _no_tangent(xp: Any, inputs: Sequence[Any], attrs: Any, tangents: Sequence[Tensor | None], out: Tensor) -> Any:
    """Zeros where the tensor itself has a tangent."""
    return None if tangents[0] is None else xp.zeros_like(out)


#: zeros in row-major order, whatever the memory format
_NOTHING_OF_INPUT = Rule(lambda xp, input_shape, input_dtype: xp.zeros(input_shape, input_dtype), "zeros_like(input)")
_NOTHING_OF_OTHER = Rule(lambda xp, other_shape, other_dtype: xp.zeros(other_shape, other_dtype), "zeros_like(other)")


def _writing(op: Pointwise) -> tuple[Overload, ...]:
    """The in-place form of a comparison: 0 and 1 of the tensor's own dtype, whose derivative is 0."""
    number, tensor = (
        Op(f"{op.grad_fn[:-1]}{k}", op.forward, "input other", saved="", jvp=_no_tangent, input=_NOTHING_OF_INPUT, other=other)
        for k, other in enumerate((NONDIFF, _NOTHING_OF_OTHER))
    )

    def run(a: Tensor, b: Operand) -> Tensor:
        record = tensor if type(b) is Tensor else number
        made = Tensor(op(a, b).array.astype(a.dtype.np), a.dtype)
        _warn_of_complex(a, made, a, b)
        if state.enabled:
            record.record(made, (a, b), ())
        if state.dual is not None:
            state.dual.push(record, (a, b), (), (made,))
        return made

    return (_TENSORS, run), (_BY_NUMBER, run)


def _function(op: Pointwise, run: Callable[..., Any], symbol: str, *aliases: str, samples: Sequence[Sample] = ()) -> Function:
    return Function(
        op.grad_fn[:2].lower(),
        (_TENSORS, run),
        (_BY_NUMBER, run),
        doc=f"Elementwise {symbol}.",
        samples=samples,
        aliases=aliases,
        written=_writing(op),
        out=_comparison_out,
    )


FUNCTIONS = (
    _function(EQ, eq, "==", samples=(Sample("tensor([1., 2.]) == tensor([1., 3.])"),)),
    _function(NE, ne, "!=", "not_equal"),
    _function(LT, lt, "<", "less"),
    _function(LE, le, "<=", "less_equal"),
    _function(GT, gt, ">", "greater"),
    _function(GE, ge, ">=", "greater_equal"),
    Function("equal", ("Tensor input, Tensor other", equal), doc="True when shape and all values agree."),
    Function("isclose", (_CLOSE, isclose), doc="Elementwise closeness."),
    Function("allclose", (_CLOSE, allclose), doc="True when all elements are close."),
    Function(
        "isin",
        ("Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False", isin),
        ("Number element, Tensor test_elements, *, bool assume_unique=False, bool invert=False", isin),
        ("Tensor elements, Number test_element, *, bool assume_unique=False, bool invert=False", isin),
        doc="Which elements are among test_elements.",
        samples=(Sample("isin(tensor([1, 2, 3]), tensor([2, 5]))"),),
        method=False,
        out=_isin_out,
    ),
    Function("logical_not", ("Tensor input", logical_not), doc="Elementwise not of truth values.", inplace=True, out=_TRUTH, unseen=True),
    _logical("and", np.logical_and),
    _logical("or", np.logical_or),
    _logical("xor", np.logical_xor),
)
