"""What tensors here never are (complex, conjugated, distributed ...), and what that makes of functions about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.ops import operators
from gradcli.core.ops.shape import layout
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import ProgramError

CONJ_PHYSICAL = Op("ConjPhysicalBackward1", lambda a: a, "input", input=Rule(lambda grad: grad, "grad"))


def _imag(input: Tensor) -> Any:
    raise ProgramError("RuntimeError", "imag is not implemented for tensors with non-complex dtypes.")


def _angle(x: Array) -> Array:
    """0 for positive numbers, pi for negative ones."""
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


ANGLE = Pointwise(
    "AngleBackward0",
    lambda x: _angle(np.asarray(x)),
    "input",
    kind="float",
    input=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)"),
)


def _conj_in_place(input: Tensor) -> Any:
    from gradcli.core.graph import in_place

    return in_place.apply(input, "conj_physical_", lambda t: CONJ_PHYSICAL(t))


def _is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same memory in the same way."""
    a, b = input.array, tensor.array
    return a.shape == b.shape and a.strides == b.strides and a.__array_interface__["data"][0] == b.__array_interface__["data"][0]


def _dim_order(input: Tensor) -> tuple[int, ...]:
    """Dimensions from the one with the longest steps in memory to that with the shortest."""
    strides = layout.element_strides(input.array)
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def _to_dense(input: Tensor, dtype: Any, masked_grad: Any) -> Tensor:
    from gradcli.core.ops.shape.casting import to_dtype

    return to_dtype(input, dtype or input.dtype)


def _never(name: str, what: str, method: bool = True, function: bool = True) -> Function:
    return Function(
        name,
        ("Tensor input", lambda t: False),
        doc=f"Whether {what}: never here.",
        samples=(Sample(f"tensor(1.).{name}()" if method else f"torch.{name}(tensor(1.))"),),
        method=method,
        function=function,
    )


def _same(name: str, doc: str) -> Function:
    return Function(name, ("Tensor input", lambda t: t), doc=doc, samples=(Sample(f"torch.{name}(x)", np.copy, x=[1.0, -2.0]),))


FUNCTIONS = (
    _never("is_conj", "the conjugation is still to be done"),
    _never("is_neg", "the negation is still to be done"),
    _never("is_distributed", "parts are held by other processes"),
    _never("is_pinned", "the memory is locked for a graphics processor", function=False),
    _never("is_shared", "the memory is shared with other processes", function=False),
    _same("resolve_conj", "The tensor itself: there is no conjugation to be done."),
    _same("resolve_neg", "The tensor itself: there is no negation to be done."),
    _same("conj_physical", "The tensor itself: it is real."),
    Function(
        "conj_physical_",
        ("Tensor input", _conj_in_place),
        doc="Conjugated in place: a real tensor stays.",
        ops=(CONJ_PHYSICAL,),
        samples=(Sample("(x * 1).conj_physical_()", np.copy, x=[1.0, -2.0]),),
    ),
    Function(
        "imag",
        ("Tensor input", _imag),
        doc="The imaginary part, which a real tensor has not.",
        method=False,
        samples=(Sample("torch.is_complex(tensor(1.))"),),
    ),
    Function(
        "angle",
        ("Tensor input", lambda x: ANGLE(x)),
        doc="0 for positive numbers, pi for negative ones.",
        ops=(ANGLE,),
        samples=(Sample("angle(x)", lambda x: np.where(x < 0, np.pi, 0), x=[1.0, -2.0]),),
        out=True,
    ),
    Function(
        "is_nonzero",
        ("Tensor input", operators.truth),
        doc="Whether the only element is not 0.",
        samples=(Sample("torch.is_nonzero(tensor(1.))"),),
        method=False,
    ),
    Function(
        "is_set_to",
        ("Tensor input, Tensor tensor", _is_set_to),
        doc="Whether both look at the same memory in the same way.",
        samples=(Sample("tensor([1.]).is_set_to(tensor([1.]))"),),
        function=False,
    ),
    Function(
        "get_device",
        ("Tensor input", lambda t: -1),
        doc="The number of the device: -1 for the cpu.",
        samples=(Sample("torch.get_device(tensor(1.))"),),
    ),
    Function(
        "dim_order",
        ("Tensor input", _dim_order),
        doc="Dimensions by the length of their steps in memory.",
        samples=(Sample("torch.zeros(2, 3).t().dim_order()"),),
        function=False,
    ),
    Function(
        "to_dense",
        ("Tensor input, dtype? dtype=None, *, bool? masked_grad=None", _to_dense),
        doc="The tensor itself: it is dense.",
        samples=(Sample("x.to_dense()", np.copy, x=[1.0, -2.0]),),
        function=False,
    ),
)
