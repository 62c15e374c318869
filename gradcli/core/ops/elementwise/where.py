"""`where`: elements of one tensor or of another, as a condition tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.record import Op, Rule
from gradcli.core.graph.saved_arrays import watched
from gradcli.core.kernels import blocks, memory_format
from gradcli.core.ops.checks import Operand, check_broadcast
from gradcli.core.ops.index.nonzero import nonzero
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType, scalar_of, wide_scalar_of
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error


def arrays_of(values: Sequence[Any], dtype: DType, checked: bool = True) -> list[Any]:
    """Arrays of one dtype from tensors and numbers, which have to fit half precision too where they are `checked`; None stays None."""
    made: list[Any] = []
    for v in values:
        if v is None:
            made.append(None)
        elif type(v) is Tensor:
            array = v.array
            if array.dtype is not dtype.np:  # numpy forgets the strides of dimensions of size 1
                array = memory_format.in_dtype(array, dtype.np)
            made.append(array)
        else:
            made.append(np.array((scalar_of if checked else wide_scalar_of)(v, dtype), dtype.np))
    return made


class Choice(Op):
    """An operation whose operands are promoted to one dtype: tensors, numbers or, for an absent bound of clamp, None.

    A condition is a plain argument, since PyTorch's nodes have no edge for it.
    """

    __slots__ = ()
    default_jvp = "elementwise"

    def __call__(self, *args: Any) -> Tensor:
        if state.mapped and (made := state.mapped[-1].on_batch(self, args)) is not None:
            return made  # type: ignore[no-any-return]
        n = len(self.tensors)
        values = args[:n]
        dtype = dtypes.result_type([a for a in values if a is not None])
        arrays = arrays_of(values, dtype, checked=False)
        check_broadcast([*args[n:], *(a for a in arrays if a is not None)])
        result = np.asarray(self.forward(*arrays, *args[n:]))
        if result.ndim > 1:
            result = memory_format.like_operands(result, [a for a in (*args[n:], *arrays) if a is not None])
        out = Tensor(self._special(result, dtype) if dtype.is_special else result, dtype)
        if state.enabled:
            self.record(out, values, args[n:])
        elif state.inference:
            out.meta = {"inference": True}
        if state.dual is not None:
            state.dual.push(self, values, args[n:], (out,))
        return out


WHERE = Choice(
    "WhereBackward0",
    lambda x, y, condition: blocks.where(condition, x, y),
    "input other",
    "condition",
    input=Rule(lambda xp, grad, condition: xp.where(xp.plain(condition), grad, 0.0), "where(condition, grad, 0)"),
    other=Rule(lambda xp, grad, condition: xp.where(xp.plain(condition), 0.0, grad), "where(condition, 0, grad)"),
    complex=True,
    real_part=False,
)


def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """Elements of `input` where `condition` is True, of `other` elsewhere; shapes broadcast, and both may be numbers."""
    if condition.dtype is dtypes.uint8:
        warnings.emit(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
            "Use a boolean condition instead. (Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/TensorCompare.cpp:621.)",
            once="where",
        )
        condition = wrap(condition.array.astype(bool))
    elif condition.dtype is not dtypes.bool_:
        raise runtime_error(f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.torch_name}")
    if type(input) is not type(other):  # a complex number makes the tensor complex by a node of its own
        dtype = dtypes.result_type((input, other))
        input, other = (to_dtype(x, dtype) if dtype.is_complex and type(x) is Tensor else x for x in (input, other))
    return WHERE(input, other, watched(condition))


_X, _Y = [0.5, -1.5, 2.0], [1.5, -2.5, 0.5]


def _where_out(condition: Tensor, input: Operand, other: Operand) -> Out:
    return Out("Expected out type to be {result} but got {out}", dtype=dtypes.result_type((input, other)), first=True)


FUNCTIONS = (
    Function(
        "where",
        ("Tensor condition |no out", partial(nonzero, as_tuple=True)),
        ("Tensor condition, Tensor input, Tensor other", where),
        ("Tensor condition, Number self, Tensor other |no out", where),
        ("Tensor condition, Tensor input, Number other |no out", where),
        ("Tensor condition, Number self, Number other |no out", where),
        doc="Elements of input where condition is True, of other elsewhere; with condition alone, the indices where it is True.",
        ops=(WHERE,),
        samples=(
            Sample("where(x > 0, x, y)", lambda x, y: np.where(x > 0, x, y), x=_X, y=_Y),
            Sample("where(x > 0, x, 3.)", lambda x: np.where(x > 0, x, 3.0), x=_X),
            Sample("where(x > 0, 2., x)", lambda x: np.where(x > 0, 2.0, x), x=_X),
        ),
        method=False,
        out=_where_out,
        overlap="partial",
    ),
    Function(
        "where",
        ("Tensor input, Tensor condition, Tensor other", lambda x, condition, y: where(condition, x, y)),
        ("Tensor input, Tensor condition, Number other", lambda x, condition, y: where(condition, x, y)),
        doc="The tensor where condition is True, other elsewhere.",
        ops=(WHERE,),
        samples=(Sample("x.where(x > 0, y)", lambda x, y: np.where(x > 0, x, y), x=_X, y=_Y),),
        function=False,
    ),
)
