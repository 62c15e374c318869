"""Window functions of signal processing, rounded after each step as PyTorch does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.kernels import Array, elementary, half_to_single
from gradcli.core.kernels.special import bessel
from gradcli.core.ops.checks import not_implemented
from gradcli.core.ops.create.leaf import making
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import runtime_error

#: rounds values to the dtype
Rounding = Callable[[Any], Array]
#: gets the points 0, 1 ... n - 1, n, a rounding and the further arguments of the window, and gives its values
Shape = Callable[..., Array]


def _number(x: Array, value: float, r: Rounding) -> Array:
    """A number in the precision of the window."""
    return r(np.asarray(value, x.dtype))


def _bartlett(x: Array, n: int, r: Rounding) -> Array:
    made = r(x * _number(x, 2 / (n - 1), r))
    half = ((n - 1) >> 1) + 1
    made[half:] = r(2 - made[half:])
    return made


def _hamming(x: Array, n: int, r: Rounding, alpha: float, beta: float) -> Array:
    wave = r(elementary.cos(r(x * _number(x, 2 * math.pi / (n - 1), r))))
    return r(r(wave * _number(x, -beta, r)) + _number(x, alpha, r))


def _blackman(x: Array, n: int, r: Rounding) -> Array:
    turn = r(x * _number(x, math.pi / (n - 1), r))
    fast = r(r(elementary.cos(r(turn * 4))) * _number(x, 0.08, r))
    slow = r(r(elementary.cos(r(turn * 2))) * _number(x, 0.5, r))
    return r(r(fast - slow) + _number(x, 0.42, r))


def _kaiser(x: Array, n: int, r: Rounding, beta: float) -> Array:
    wide = half_to_single(x)  # PyTorch rounds half precision once, at the end
    kind = wide.dtype.type
    side = elementary.fused(wide, kind(2 / (n - 1)), kind(-1))
    arch = np.sqrt(np.maximum(1 - side * side, kind(0)))
    return np.asarray(bessel.i0(kind(beta) * arch) / bessel.i0(np.asarray(kind(beta))))


def _window(name: str, shape: Shape, more: tuple[float, ...], given: int = 0) -> Callable[..., tuple[Array, DType]]:
    """The implementation of an overload that takes `given` of the further arguments; the others have the defaults `more`."""

    def run(window_length: int, *rest: Any) -> tuple[Array, DType]:
        *own, dtype, layout, pinned = rest
        periodic = own[0] if own else True
        parameters = (*own[1 : 1 + given], *more[given:])
        wanted = dtype or dtypes.get_default()
        _check(name, window_length, wanted, layout, pinned)
        if window_length < 2:
            return np.ones(window_length, wanted.np), wanted
        if wanted.is_complex:
            raise not_implemented("arange_cpu", wanted)
        n = window_length + periodic
        x = np.arange(n).astype(wanted.np)
        made = shape(x, n, dtypes.round_bfloat16 if wanted is dtypes.bfloat16 else np.asarray, *parameters)[:window_length]
        return dtypes.cast(made, wanted), wanted

    return run


def _check(name: str, window_length: int, dtype: DType, layout: Any, pinned: bool) -> None:
    if not dtype.is_floating_point and not dtype.is_complex:
        raise runtime_error(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.c_name}, device=cpu, "
            f"layout=Strided{'' if layout else ' (default)'}, requires_grad=false (default), pinned_memory={str(pinned).lower()}, "
            "memory_format=(nullopt))"
        )
    if window_length < 0:
        raise runtime_error(f"{name} requires non-negative window_length, got window_length={window_length}")
    limits.check_elements(window_length, 8)


def _function(name: str, shape: Shape, doc: str, names: tuple[str, ...] = (), more: tuple[float, ...] = ()) -> Function:
    """The function, with an overload for each number of given arguments.

    `names` are the further arguments that a call may give; `more` are their defaults, or constants of the window.
    """
    overloads = [making("int window_length, *", _window(name, shape, more), whole=True)]
    for given in range(len(names) + 1):
        own = "".join(f", float {n}" for n in names[:given])
        overloads.append(making(f"int window_length, bool periodic{own}, *", _window(name, shape, more, given), whole=True))
    return Function(name, *overloads, doc=doc, samples=(Sample(f"torch.{name}(5)"),), method=False)


FUNCTIONS = (
    _function("bartlett_window", _bartlett, "A triangle."),
    _function("blackman_window", _blackman, "0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N)."),
    _function("hann_window", _hamming, "0.5 - 0.5 * cos(2 * pi * n / N).", more=(0.5, 0.5)),
    _function("hamming_window", _hamming, "alpha - beta * cos(2 * pi * n / N).", ("alpha", "beta"), (0.54, 0.46)),
    _function("kaiser_window", _kaiser, "Kaiser's window: i0(beta * sqrt(1 - t**2)) / i0(beta).", ("beta",), (12.0,)),
)
