"""Signs and absolute values: abs, sign, sgn, signbit, copysign, heaviside."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import BOOLEAN, SAME, Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import memory_format
from gradcli.core.ops.checks import Number, checked, refuse_bool, refuse_complex
from gradcli.core.ops.elementwise.complex_signs import DIRECTION, SIZE
from gradcli.core.ops.elementwise.unary import unary
from gradcli.core.ops.index.masked import FILLED
from gradcli.core.ops.rules import check_no_tangent, not_differentiable, zero
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import ProgramError, runtime_error


def _sign(x: Any) -> Any:
    """-1, 0 or 1; 0 for nan, which is neither above nor below 0."""
    if x.dtype == bool:
        return x.copy()
    return np.greater(x, 0).astype(x.dtype) - np.less(x, 0).astype(x.dtype)


def _no_sign(x: Any) -> Any:
    raise ProgramError(
        "NotImplementedError", "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
    )


_FLAT = zero("0 everywhere, at 0 too")
SIGN = Pointwise("SignBackward0", _sign, "input", complex=_no_sign, input=_FLAT)
SGN = Pointwise("SgnBackward0", _sign, "input", saved="result self", complex=DIRECTION, input=_FLAT)
ABS = Pointwise(
    "AbsBackward0",
    np.abs,
    "input",
    complex=SIZE,
    input=Rule(lambda xp, grad, input: grad * xp.call(SGN, input), "grad * sgn(input)", "0 at 0"),
)
absolute = checked(ABS, refuse_bool, "abs_cpu")


def _absolute_in_place(input: Tensor) -> Tensor:
    if input.dtype.is_complex:
        raise runtime_error("In-place abs is not supported for complex tensors.")
    return absolute(input)  # type: ignore[no-any-return]


def signbit(input: Tensor) -> Tensor:
    """True where the sign is minus, also for -0.0."""
    refuse_complex("signbit", input.dtype)
    x = input.array
    return wrap(memory_format.like_operands(np.asarray(np.signbit(x) if x.dtype.kind == "f" else np.less(x, 0)), (x,)))


_COPYSIGN_RULE = Rule(
    lambda xp, grad, input, out: grad * xp.call(FILLED, out / input, np.asarray(np.equal(xp.plain(input), 0)), 0),
    "where(input == 0, 0 * grad, grad * out / input)",
    "0 where input is 0",
)
_NO_INFLUENCE = Rule(lambda xp, other_shape, other_dtype: xp.zeros(other_shape, other_dtype), "zeros_like(other)")
COPYSIGN = Pointwise(
    "CopysignBackward0", np.copysign, "input other", saved="result self", kind="float", input=_COPYSIGN_RULE, other=_NO_INFLUENCE
)
COPYSIGN_NUMBER = Pointwise(
    "CopysignBackward1", np.copysign, "input", "other", saved="result self", kind="float", layout="numbered", input=_COPYSIGN_RULE
)


def copysign(input: Tensor, other: Tensor | Number) -> Tensor:
    """The size of `input` with the sign of `other`."""
    return COPYSIGN(input, other) if type(other) is Tensor else COPYSIGN_NUMBER(input, other)


HEAVISIDE, HEAVISIDE_INPLACE = (
    not_differentiable(
        name,
        lambda x, value: np.asarray(np.where(np.equal(x, 0), value, np.greater(x, 0))).astype(np.result_type(x, value)),
        "input values",
        elementwise=True,
    )
    for name in ("heaviside", "heaviside_")
)


def heaviside(input: Tensor, values: Tensor, record: Op = HEAVISIDE) -> Tensor:
    """0 below 0, 1 above 0, `values` at 0; both tensors have one dtype."""
    check_no_tangent(f"aten::heaviside{'_' if record is HEAVISIDE_INPLACE else ''}", input, values)
    if input.dtype.is_complex or values.dtype.is_complex:
        raise runtime_error("heaviside is not yet implemented for complex tensors.")
    if input.dtype is not values.dtype:
        raise runtime_error("heaviside is not yet implemented for tensors with different dtypes.")
    return record(input, values)  # type: ignore[no-any-return]


def _magnitude_out(input: Tensor) -> Out:
    """`abs` of complex numbers goes into complex numbers of their own dtype, or into real ones of any."""

    def check(out: Tensor, result: Tensor) -> None:
        if out.dtype.is_complex and out.dtype is not input.dtype:
            raise runtime_error(f"Found dtype {out.dtype.torch_name} but expected {input.dtype.torch_name}")

    return Out(check=check) if input.dtype.is_complex else Out(SAME)


def _refuse_complex(values: list[Any], out: Tensor) -> None:
    if any(t.dtype.is_complex for t in (*values, out)):
        raise runtime_error("heaviside is not yet implemented for complex tensors.")


_X = [0.4, -1.3, 2.7]

FUNCTIONS = (
    unary("sign", SIGN, "-1, 0 or 1.", np.sign, _X, torch_inplace=(), out=Out(SAME)),
    unary("sgn", SGN, "-1, 0 or 1.", np.sign, _X, torch_inplace=(), out=Out(SAME)),
    unary(
        "abs",
        ABS,
        "The absolute value.",
        np.abs,
        _X,
        aliases=("absolute",),
        run=absolute,
        written=("Tensor input", _absolute_in_place),
        torch_inplace=("abs_",),
        out=_magnitude_out,
    ),
    Function(
        "signbit",
        ("Tensor input", signbit),
        doc="Whether the sign is minus.",
        out=Out(BOOLEAN, dtype=dtypes.bool_, first=True, inspect=lambda values, out: refuse_complex("signbit", values[0].dtype)),
        overlap="partial",
    ),
    Function(
        "copysign",
        ("Tensor input, Tensor other", copysign),
        ("Tensor input, Number other", copysign),
        doc="The size of input with the sign of other.",
        ops=(COPYSIGN, COPYSIGN_NUMBER),
        samples=(
            Sample("copysign(x, y)", np.copysign, x=_X, y=[1.0, 2.0, -3.0]),
            Sample("x.copysign(-2)", lambda x: np.copysign(x, -2), x=_X),
        ),
        inplace=True,
        out=True,
    ),
    Function(
        "heaviside",
        ("Tensor input, Tensor values", heaviside),
        doc="0 below 0, 1 above 0, values at 0.",
        ops=(HEAVISIDE,),
        samples=(Sample("heaviside(tensor([-1., 0., 2.]), tensor(0.5))"),),
        written=(("Tensor input, Tensor values", lambda x, values: heaviside(x, values, HEAVISIDE_INPLACE)),),
        out=Out(
            "heaviside is not yet implemented for tensors with different dtypes.", first=True, autograd="fallback", inspect=_refuse_complex
        ),
    ),
)
