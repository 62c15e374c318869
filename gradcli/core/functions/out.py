"""What a function declares about its `out=`. `out_arguments` goes by it, and is loaded when a program uses `out=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from gradcli.errors import ProgramError, runtime_error
from gradcli.plain import Plain

if TYPE_CHECKING:
    from gradcli.core.tensor.dtypes import DType
    from gradcli.core.tensor.tensor import Tensor

#: errors for an `out` of another dtype than the result's. `{result}`, `{out}` and `{operand}` are the names of the dtypes, `{result_c}`
#: and `{out_c}` those of C++, `{result_type}` and `{out_type}` the types of such tensors, `{name}` is the function's and `{field}` that
#: of the part of the result
EXACT = "Expected out tensor to have dtype {result_c}, but got {out_c} instead"
SAME = "Found dtype {out} but expected {result}"
BOOLEAN = "{name} does not support non-boolean outputs."
CASTABLE = "{name}: Expected {field} to be safely castable from {result} dtype, but got {field} with dtype {out}"

#: How PyTorch differentiates the operator that writes into `out`. "derivative": it has a formula, and refuses `out` where a gradient or a
#: tangent is wanted. "constant": its result has no derivative, and it refuses tangents. "fallback": it has no formula, and gives `out` a
#: node whose derivative raises. "composed": the result is computed apart and copied into `out`, with its history. "none": its
#: operands have no derivative, so that it refuses no more than an `out` with a tangent.
Autograd = Literal["derivative", "constant", "fallback", "composed", "none"]

Shape = tuple[int, ...]


class Out(Plain):
    """How a function writes into `out=`, where it is not as most functions do."""

    #: the error for an `out` that has not exactly the result's dtype; by fields, in the order of PyTorch's checks, where they differ
    exact: str | dict[str, str] = ""
    #: the error for an `out` of a lower category than the result; "" for the usual one, None where there is none
    lower: str | None = ""
    #: the type of these errors
    error: str = "RuntimeError"
    #: the dtype of the result, where it is not that of the operands
    dtype: DType | None = None
    #: whether the dtype of `out` is checked before the arguments
    first: bool = False
    #: whether a missing kernel is found before the dtype of `out` is checked; where memory is unchecked, once `out` has its shape
    kernel_first: bool = False
    #: whether it computes in the dtype of `out`, if the call names none
    own_dtype: bool = False
    #: the operator that errors about graphs name, where it is another
    operator: str = ""
    #: "derivative" by default where the function has a record or names an operator, else "constant"
    autograd: Autograd | None = None
    #: which of several tensors have gradients; by default as many as the record says, or one
    tracked: slice | None = None
    #: the parameters without derivative, whose tensors may require grad where their dtype is wrong
    constants: tuple[str, ...] = ("index", "mask", "condition")
    #: whether None is returned
    nothing: bool = False
    #: whether graphs are refused after the arguments have been checked, as functions that are composed of others do
    late: bool = False
    #: whether an `out` of another shape becomes row-major, whatever the result is: always, or if it had elements or another dtype
    row_major: Literal["", "always", "unfit"] = ""
    #: when the memory of `out` is looked at: "first", as usual for functions with an `overlap`, or once it is "resized". "own": only
    #: whether its elements share memory, not whether operands do; "unchecked": not at all
    memory: Literal["", "first", "resized", "own", "unchecked"] = ""
    #: which operands may not share memory with `out`, where that is not as the function says; of each operand, where they differ
    overlap: Literal["", "partial", "any"] | tuple[str, ...] | None = None
    #: whether only the last step of a composed function writes into `out`, so that the others have their nodes
    last_step: bool = False
    #: whether `out` gets the shape of the result before its dtype and graphs are looked at
    resized_first: bool = False
    #: whether it does not warn where `out` gets another shape
    silent: bool = False
    #: whether an `out` of as many elements keeps its shape
    flat: bool = False
    #: whether a change of the shape counts as a write too, and how many writes the call counts as, for several results of each
    counted: bool = False
    writes: int | tuple[int, ...] = 1
    #: changes the arguments, given them and `out`, before anything else
    prepare: Callable[[list[Any], Any], None] | None = None
    #: checks the arguments, or changes them, given them and `out`, once graphs have been refused
    inspect: Callable[[list[Any], Any], None] | None = None
    #: the shape, by the arguments, that `out` gets before the function computes, or those of several; None where it gets that of
    #: the result afterwards
    shape: Callable[[list[Any]], Shape | list[Shape] | None] | None = None
    #: the shapes of `out` and of the result, given both, that a warning of another shape is about, where they are others
    compared: Callable[[Shape, Shape], tuple[Shape, Shape]] | None = None
    #: whether PyTorch makes `out` 0 and adds to it, which shows where it shares memory, among its elements or with an operand
    adds: bool = False
    #: checks `out`, given it and the result
    check: Callable[[Any, Any], None] | None = None
    #: all that the call does, given the arguments and `out`, where PyTorch composes the function of others that write into `out`
    steps: Callable[..., Any] | None = None
    #: values of arguments, by position, that kernels do not refuse, and with which the results have the same shapes
    instead: Mapping[int, Any] = MappingProxyType({})


#: What a function declares: whether it takes `out`, or how, or a function of the arguments that tells how.
OutRule = bool | Out | Callable[..., Out]


def no_graph(operator: str) -> ProgramError:
    """PyTorch's error of an operator that writes into `out` while a gradient is wanted."""
    return runtime_error(
        f"{operator}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad."
    )


def check_castable(name: str, dtype: DType, out: Tensor) -> None:
    """Raise RuntimeError where numbers of the dtype cannot be written into `out` of the function `name`."""
    if dtype.category > out.dtype.category:
        raise runtime_error(CASTABLE.format(name=name, field="result", result=dtype.torch_name, out=out.dtype.torch_name))
