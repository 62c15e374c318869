"""Window functions of signal processing, rounded step by step as PyTorch computes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.kernels import elementary
from gradcli.core.kernels.special import bessel
from gradcli.core.ops.create.creation import finish
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Array, Tensor
from gradcli.errors import runtime_error

#: what rounds a value to the dtype
Rounding = Callable[[Any], Array]
#: an array of a window of that many points from 0, 1, 2 ... and further arguments
Shape = Callable[..., Array]


def _bartlett(x: Array, n: int, r: Rounding) -> Array:
    made = r(x * x.dtype.type(2 / (n - 1)))
    half = ((n - 1) >> 1) + 1
    made[half:] = r(2 - made[half:])
    return made


def _hamming(x: Array, n: int, r: Rounding, alpha: float, beta: float) -> Array:
    kind = x.dtype.type
    wave = r(elementary.cos(r(x * kind(2 * math.pi / (n - 1)))))
    return r(r(wave * kind(-beta)) + kind(alpha))


def _blackman(x: Array, n: int, r: Rounding) -> Array:
    kind = x.dtype.type
    turn = r(x * kind(math.pi / (n - 1)))
    fast = r(r(elementary.cos(r(turn * 4))) * kind(0.08))
    slow = r(r(elementary.cos(r(turn * 2))) * kind(0.5))
    return r(r(fast - slow) + kind(0.42))


def _kaiser(x: Array, n: int, r: Rounding, beta: float) -> Array:
    wide = x.astype(np.float32) if x.dtype == np.float16 else x  # one kernel does it all
    kind = wide.dtype.type
    side = elementary.fused(wide, kind(2 / (n - 1)), kind(-1))
    arch = np.sqrt(np.maximum(1 - side * side, kind(0)))
    return np.asarray(bessel.i0(kind(beta) * arch) / bessel.i0(np.asarray(kind(beta))))


def _window(name: str, shape: Shape, more: tuple[float, ...], given: int = 0) -> Callable[..., Tensor]:
    """The implementation of an overload; `given` of the further arguments are among its own, the rest have their defaults."""

    def run(window_length: int, *rest: Any) -> Tensor:
        dtype: DType | None
        *own, dtype, _, _, _, requires_grad = rest
        periodic = own[0] if own else True
        parameters = (*own[1 : 1 + given], *more[given:])
        wanted = dtype or dtypes.get_default()
        _check(name, window_length, wanted)
        if window_length < 2:
            return finish(np.ones(window_length, wanted.np), wanted, requires_grad)
        n = window_length + periodic
        x = np.arange(n).astype(wanted.np)
        made = shape(x, n, dtypes.round_bfloat16 if wanted is dtypes.bfloat16 else np.asarray, *parameters)[:window_length]
        return finish(dtypes.cast(made, wanted), wanted, requires_grad)

    return run


def _check(name: str, window_length: int, dtype: DType) -> None:
    if not dtype.is_floating_point:
        raise runtime_error(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={dtype.c_name}, device=cpu, layout=Strided (default), "
            "requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if window_length < 0:
        raise runtime_error(f"{name} requires non-negative window_length, got window_length={window_length}")
    limits.check_elements(window_length, 8)


_OPTIONS = "*, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False"


def _function(
    name: str, shape: Shape, doc: str, names: tuple[str, ...] = (), more: tuple[float, ...] = (), fixed: bool = False
) -> Function:
    """`names` are the further arguments, with the defaults `more`; fixed where nobody may give them."""
    overloads = [(f"int window_length, {_OPTIONS}", _window(name, shape, more))]
    for given in range(0 if fixed else len(names) + 1):
        own = "".join(f", float {n}" for n in names[:given])
        overloads.append((f"int window_length, bool periodic{own}, {_OPTIONS}", _window(name, shape, more, given)))
    if fixed:
        overloads.append((f"int window_length, bool periodic, {_OPTIONS}", _window(name, shape, more)))
    return Function(name, *overloads, doc=doc, samples=(Sample(f"torch.{name}(5)"),), method=False)


FUNCTIONS = (
    _function("bartlett_window", _bartlett, "A triangle."),
    _function("blackman_window", _blackman, "0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N)."),
    _function("hann_window", _hamming, "0.5 - 0.5 * cos(2 * pi * n / N).", more=(0.5, 0.5), fixed=True),
    _function("hamming_window", _hamming, "alpha - beta * cos(2 * pi * n / N).", ("alpha", "beta"), (0.54, 0.46)),
    _function("kaiser_window", _kaiser, "Kaiser's window: i0(beta * sqrt(1 - t**2)) / i0(beta).", ("beta",), (12.0,)),
)
