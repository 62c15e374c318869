"""What the language's operators do when an operand is a tensor."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.type_errors import not_ordered, type_error, unsupported_operands
from gradcli.core.functions.catalog import function, method
from gradcli.core.kernels import blocks
from gradcli.core.kernels.memory_format import followers, tell_followers
from gradcli.core.ops.checks import check_no_samples
from gradcli.core.ops.elementwise import add_multiply, comparison, divide_remainder, power
from gradcli.core.ops.rules import check_no_tangent
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import wrapped
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error

_NUMBERS = (Tensor, int, float, bool, complex)


def _mapping(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`; within vmap by one sample after the other, where it asks for elements."""

    def operate(*operands: Any) -> Any:
        try:
            return run(*operands)
        except ProgramError as error:
            if error.code is not Code.NEEDS_SAMPLES or not state.mapped:
                raise
            return state.mapped[-1].by_samples(run, operands, error)

    return operate


def _operator(symbol: str, run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(a: Any, b: Any) -> Any:
        if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
            raise unsupported_operands(symbol, a, b)
        return run(a, b)

    return operate


def _sub(a: Any, b: Any) -> Any:
    return add_multiply.sub(a, b) if type(a) is Tensor else add_multiply.rsub(b, a)


def _div(a: Any, b: Any) -> Any:
    return divide_remainder.div(a, b) if type(a) is Tensor else divide_remainder.rdiv(b, a)


def _floor_divide(a: Any, b: Any) -> Any:
    return divide_remainder.floor_divide(_tensor_like(a, b), b)


def _remainder(a: Any, b: Any) -> Any:
    return divide_remainder.remainder(a, b)


def _tensor_like(a: Any, b: Any) -> Tensor:
    """A number on the left as a 0-d tensor; numbers promote less than 0-d tensors, so only within b's category."""
    if type(a) is Tensor:
        return a
    dtype = dtypes.result_type((a, b))
    return Tensor(dtypes.cast(np.asarray(wrapped(a, dtype) if dtype.category == 1 else a), dtype), dtype)


def _matmul(a: Any, b: Any) -> Any:
    if type(a) is not Tensor or type(b) is not Tensor:
        raise unsupported_operands("@", a, b)
    return function("matmul")(a, b)


def _shift(name: str, operator: str) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        check_no_tangent(f"aten::{operator}", a, b)
        return function(name)(a, b)

    return run


def _named(name: str) -> Callable[[Any, Any], Any]:
    def run(a: Any, b: Any) -> Any:
        return function(name)(a, b)

    return run


#: for operands known to be tensors and numbers, a tensor among them
PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": add_multiply.add,
    "-": _sub,
    "*": add_multiply.mul,
    "/": _div,
    "//": _mapping(_floor_divide),
    "%": _mapping(_remainder),
    "**": _mapping(power.pow),
    "@": _matmul,
    "&": _named("bitwise_and"),
    "|": _named("bitwise_or"),
    "^": _named("bitwise_xor"),
    "<<": _shift("bitwise_left_shift", "__lshift__"),
    ">>": _shift("bitwise_right_shift", "__rshift__"),
}

#: for a tensor on the left: the results of common cases, None in the others (Pointwise.fast_path)
FAST_PATHS: dict[str, Callable[[Tensor, Any], Tensor | None]] = {
    "+": add_multiply.ADD.fast_path,
    "-": add_multiply.SUB.fast_path,
    "*": add_multiply.MUL.fast_path,
    "/": divide_remainder.DIV.fast_path,
}

#: for any operands: Python's error where the other one is neither tensor nor number
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    symbol: run if symbol == "@" else _operator("** or pow()" if symbol == "**" else symbol, run) for symbol, run in PLAIN.items()
}


def _equality(run: Callable[[Any, Any], Any], other: bool) -> Callable[[Any, Any], Any]:
    def compare(a: Any, b: Any) -> Any:
        if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
            return other  # a tensor is not equal to what is no number
        return run(a, b)

    return compare


def _ordering(symbol: str, run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(a: Any, b: Any) -> Any:
        if type(a) not in _NUMBERS or type(b) not in _NUMBERS:
            raise not_ordered(symbol, a, b)
        return run(a, b)

    return compare


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": _equality(comparison.eq, False),
    "!=": _equality(comparison.ne, True),
    "<": _ordering("<", comparison.lt),
    "<=": _ordering("<=", comparison.le),
    ">": _ordering(">", comparison.gt),
    ">=": _ordering(">=", comparison.ge),
}


_HOST_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_HOST_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
}

#: what Python's operators do with tensors in the core's own code, where operands are tensors, numbers or scalars of numpy's
WITHIN_CORE: dict[str, Callable[..., Any]] = {
    **{symbol: PLAIN[symbol] for symbol in ("+", "-", "*", "/", "**")},
    "neg": add_multiply.neg,
    "==": comparison.eq,
    "!=": comparison.ne,
    "<": comparison.lt,
    "<=": comparison.le,
    ">": comparison.gt,
    ">=": comparison.ge,
}


def _invert(a: Tensor) -> Any:
    if a.dtype.is_differentiable:
        raise ProgramError("TypeError", "~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return function("bitwise_not")(a)


UNARY: dict[str, Callable[[Tensor], Any]] = {"-": add_multiply.neg, "+": add_multiply.positive, "~": _invert}

_INPLACE_METHODS = {
    "+": "add_",
    "-": "sub_",
    "*": "mul_",
    "/": "div_",
    "//": "floor_divide_",
    "%": "remainder_",
    "**": "pow_",
    "&": "bitwise_and_",
    "|": "bitwise_or_",
    "^": "bitwise_xor_",
    "<<": "bitwise_left_shift_",
    ">>": "bitwise_right_shift_",
}


_DIRECT: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide}


def _is_plain_write(target: Tensor, value: Any) -> bool:
    """Whether nothing is recorded or converted: the update `w -= lr * w.grad` under no_grad, without detours."""
    if state.enabled or state.dual is not None or target.meta is not None:
        return False
    if not target.dtype.is_floating_point or target.dtype is dtypes.bfloat16:
        return False
    if type(value) is Tensor:
        if value.dtype is not target.dtype or value.array.shape != target.array.shape or value.version is target.version is not None:
            return False
    elif type(value) is not float and type(value) is not int:
        return False
    return 0 not in target.array.strides


def augmented(symbol: str, target: Tensor, value: Any) -> Any:
    """`target op= value`: in place on the tensor; `@=` is out of place, as in PyTorch."""
    name = _INPLACE_METHODS.get(symbol)
    if name is None:
        if type(value) is not Tensor:
            raise unsupported_operands(f"{symbol}=", target, value)
        return BINARY[symbol](target, value)
    direct = _DIRECT.get(symbol)
    if direct is not None and _is_plain_write(target, value):
        blocks.settle()
        array = target.array
        other = value.array if type(value) is Tensor else value
        if array.size == 1:  # half of the time of a sum that goes to the array itself
            array[...] = direct(array, other)
        else:
            direct(array, other, out=array)
        target.counter().count += 1
        if followers:
            tell_followers(array)
        return target
    if type(value) not in _NUMBERS:
        raise unsupported_operands(f"{symbol}=", target, value)
    return method(name).method(target, (value,), {})


def ordered(a: Any, symbol: str, b: Any) -> bool:
    """The truth of a comparison such as `a < b` of any two arguments. Raises TypeError for types that have no order."""
    if type(a) is Tensor or type(b) is Tensor:
        return truth(COMPARE[symbol](a, b))
    try:
        return bool(_HOST_ORDER[symbol](a, b))
    except TypeError:
        raise not_ordered(symbol, a, b) from None


def calculated(a: Any, symbol: str, b: Any) -> Any:
    """`a + b`, `a - b`, `a * b` or `a // b` of any two arguments. Raises TypeError where one is neither a tensor nor a number."""
    if symbol == "*" and type(a) is int and type(b) is str:
        return b  # repeated; what is done with it fails, whatever its length
    if symbol == "+" and type(a) is str:
        if type(b) is str:
            return a
        raise type_error('can only concatenate str (not "{}") to str', b)
    if type(a) is Tensor or type(b) is Tensor or type(a) not in _NUMBERS or type(b) not in _NUMBERS:
        return BINARY[symbol](a, b)
    return _HOST_ARITHMETIC[symbol](a, b)


_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to rewrite "
    "what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug report."
)
_CONTROL = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please file an "
    "issue at https://github.com/pytorch/pytorch/issues ."
)
_ITEM_OR_CONTROL = (
    "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some data-dependent control "
    "flow or (3) encountering this error in PyTorch internals. For (1): we don't support vmap over calling .item() on a Tensor, please try "
    "to rewrite what you're doing with other operations. For (2): we don't support data-dependent control flow in vmap yet, please file an "
    "issue at https://github.com/pytorch/pytorch/issues . For (3): please file an issue."
)


def _why(message: str) -> str:
    """The message where vmap is the innermost transform; PyTorch does not know which it is within others."""
    return message if state.transforms[-1:] == ("vmap",) else _ITEM_OR_CONTROL


def item(tensor: Tensor) -> Any:
    """`tensor.item()`; not within vmap, where the number would be that of one sample."""
    if state.mapped:
        check_no_samples((tensor,), _why(_ITEM))
    return tensor.item()


def truth(tensor: Tensor) -> bool:
    """`bool(tensor)`; PyTorch's errors for none or several elements."""
    if state.mapped:
        check_no_samples((tensor,), _why(_CONTROL))
    array = tensor.array
    if array.size == 1:
        return bool(array.item())
    if array.size == 0:
        raise runtime_error("Boolean value of Tensor with no values is ambiguous")
    raise runtime_error("Boolean value of Tensor with more than one value is ambiguous", Code.TRUTH_OF_MANY)


def is_true(value: Any) -> bool:
    """The truth of any argument, as Python's `if` finds it."""
    return truth(value) if type(value) is Tensor else bool(value)


_indexing: Any = None


def _index_family() -> Any:
    """The indexing family, loaded when the first index is met."""
    global _indexing
    if _indexing is None:
        from gradcli.core.ops.index import indexing

        _indexing = indexing
    return _indexing


def getitem(tensor: Tensor, index: Any) -> Any:
    """`tensor[index]`."""
    return _mapping((_indexing or _index_family()).getitem)(tensor, index)


def setitem(tensor: Tensor, index: Any, value: Any) -> None:
    """`tensor[index] = value`."""
    (_indexing or _index_family()).setitem(tensor, index, value)


def iterate(tensor: Tensor) -> Any:
    """The rows of a tensor, as `for row in tensor` sees them: an unbind along dimension 0."""
    if tensor.array.ndim == 0:
        raise ProgramError("TypeError", "iteration over a 0-d tensor")
    return iter(function("unbind")(tensor, 0))


def set_data(tensor: Tensor, value: Any) -> None:
    """`tensor.data = value`: other values and shape, same place in the graph, no version bump.

    Raises TypeError for anything but a tensor, RuntimeError for a dtype without gradients where they are required and within torch.func.
    """
    if type(value) is not Tensor:
        from gradcli.core.calling.signature import language

        raise ProgramError("TypeError", f"Variable data has to be a tensor, but got {language.type_name(value)}")
    if tensor.batch is not None or value.batch is not None:
        raise runtime_error("mutating directly with `.data` under vmap transform is not allowed.")
    if tensor.property_of("levels"):
        raise runtime_error("mutating directly with `.data` inside functorch transform is not allowed.")
    if tensor.requires_grad and not value.dtype.is_differentiable:
        raise runtime_error("data set to a tensor that requires gradients must be floating point or complex dtype")
    if tensor.dtype is not value.dtype:
        tensor.accumulator = None
    tensor.array = value.array
    for name in ("conj", "neg"):
        if tensor.property_of(name) is not value.property_of(name):
            tensor.set_property(name, value.property_of(name))
    tensor.dtype = value.dtype
