"""torch.signal.windows: symmetric and periodic windows, composed of public functions in PyTorch's order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.functions.catalog import function
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _prepared(
    name: str, M: Any, dtype: DType | None, layout: Any = None, device: Any = None, requires_grad: Any = False, *more: Any
) -> tuple[DType, dict[str, Any]]:
    """The dtype, and the options of the functions that make tensors; `more` are further numbers. Raises ValueError."""
    if type(M) is not int or any(type(value) not in (int, float, bool) for value in more):
        raise ProgramError("NotImplementedError", f"torch.signal.windows.{name} takes an integer and plain numbers here")
    dtype = dtype or dtypes.get_default()
    if M < 0:
        raise ProgramError("ValueError", f"{name} requires non-negative window length, got M={M}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ProgramError("ValueError", f"{name} expects float32 or float64 dtypes, got: {dtype}")
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return dtype, {key: value for key, value in options.items() if value is not None}


def _exponential(
    M: Any,
    *,
    center: Any = None,
    tau: Any = 1.0,
    sym: Any = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    _, options = _prepared("exponential", M, dtype, layout, device, requires_grad, tau)
    if tau <= 0:
        raise ProgramError("ValueError", f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ProgramError("ValueError", "Center must be None for symmetric windows")
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / tau
    return _window(M, -center * scale, (-center + (M - 1)) * scale, options, lambda k: function("exp")(-function("abs")(k)))


def _cosine(
    M: Any, *, sym: Any = True, dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: Any = False
) -> Tensor:
    _, options = _prepared("cosine", M, dtype, layout, device, requires_grad)
    scale = math.pi / (M + 1 if not sym and M > 1 else M or 1)
    return _window(M, 0.5 * scale, (0.5 + (M - 1)) * scale, options, function("sin"))


def _gaussian(
    M: Any,
    *,
    std: Any = 1.0,
    sym: Any = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    _, options = _prepared("gaussian", M, dtype, layout, device, requires_grad, std)
    if std <= 0:
        raise ProgramError("ValueError", f"Standard deviation must be positive, got: {std} instead.")
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    return _window(M, start * scale, (start + (M - 1)) * scale, options, lambda k: function("exp")(-(k**2)))


def _kaiser(
    M: Any,
    *,
    beta: Any = 12.0,
    sym: Any = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    dtype, options = _prepared("kaiser", M, dtype, layout, device, requires_grad, beta)
    if beta < 0:
        raise ProgramError("ValueError", f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _short(M, options)
    width = function("tensor")(beta, dtype=dtype)
    start = -width
    end = function("minimum")(width, start + (M - 1) * (2.0 * width / (M - 1 if sym else M)))
    i0 = function("i0")
    return _window(M, start, end, options, lambda k: i0(function("sqrt")(width * width - function("pow")(k, 2))) / i0(width))


def _bartlett(
    M: Any, *, sym: Any = True, dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: Any = False
) -> Tensor:
    _, options = _prepared("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return _short(M, options)
    end = -1 + (M - 1) * (2 / (M - 1 if sym else M))
    return _window(M, -1, end, options, lambda k: 1 - function("abs")(k))


def _general_cosine(
    M: Any, *, a: Any, sym: Any = True, dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: Any = False
) -> Tensor:
    dtype, options = _prepared("general_cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return _short(M, options)
    if not isinstance(a, list | tuple):
        raise ProgramError("TypeError", "Coefficients must be a list/tuple")
    if not a:
        raise ProgramError("ValueError", "Coefficients cannot be empty")

    def waves(k: Tensor) -> Tensor:
        factors = function("tensor")([(-1) ** i * w for i, w in enumerate(a)], dtype=dtype, requires_grad=requires_grad)
        steps = function("arange")(len(a), dtype=dtype, requires_grad=requires_grad)
        unsqueeze = function("unsqueeze")
        made: Tensor = function("sum")(unsqueeze(factors, -1) * function("cos")(unsqueeze(steps, -1) * k), 0)
        return made

    return _window(M, 0, (M - 1) * (2 * math.pi / (M - 1 if sym else M)), options, waves)


def _sum_of_cosines(name: str, *a: float) -> Callable[..., Tensor]:
    """A window of cosines with coefficients of its own; its errors about the arguments name general_cosine, as PyTorch's do."""

    def run(
        M: Any, *, sym: Any = True, dtype: DType | None = None, layout: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Tensor:
        if name == "blackman":
            _prepared(name, M, dtype)
        return _general_cosine(M, a=a, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)

    return run


def _general_hamming(
    M: Any,
    *,
    alpha: Any = 0.54,
    sym: Any = True,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
) -> Tensor:
    a = [alpha, 1.0 - alpha]
    return _general_cosine(M, a=a, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def _short(M: int, options: dict[str, Any]) -> Tensor:
    """The window of no point, or of one."""
    made: Tensor = function("ones")((M,), **options)
    return made


def _window(M: int, start: Any, end: Any, options: dict[str, Any], shape: Callable[[Tensor], Tensor]) -> Tensor:
    return shape(function("linspace")(start=start, end=end, steps=M, **options)) if M else _short(0, options)


_WINDOWS: dict[str, Callable[..., Tensor]] = {
    "bartlett": _bartlett,
    "blackman": _sum_of_cosines("blackman", 0.42, 0.5, 0.08),
    "cosine": _cosine,
    "exponential": _exponential,
    "gaussian": _gaussian,
    "general_cosine": _general_cosine,
    "general_hamming": _general_hamming,
    "hamming": _sum_of_cosines("hamming", 0.54, 1.0 - 0.54),
    "hann": _sum_of_cosines("hann", 0.5, 0.5),
    "kaiser": _kaiser,
    "nuttall": _sum_of_cosines("nuttall", 0.3635819, 0.4891775, 0.1365995, 0.0106411),
}
#: the windows by name
ROUTINES = {name: Routine(run, name) for name, run in _WINDOWS.items()}
