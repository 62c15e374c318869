"""`nn.init`: functions that write initial values into a tensor (Glorot and Bengio 2010; He et al. 2015)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.graph.write_checks import bump
from gradcli.core.kernels import Array, blocks
from gradcli.core.optim.checks import number
from gradcli.core.random.seeds import generator_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, shape_error


def _fill(tensor: Any, values: Any) -> Tensor:
    """Write values into a tensor; the graph does not record it."""
    checked = _checked(tensor)
    blocks.settle()
    checked.array[...] = values
    if checked.dtype is dtypes.bfloat16:
        checked.array[...] = dtypes.round_bfloat16(checked.array)
    bump(checked)
    return checked


def _checked(tensor: Any, name: str = "dim") -> Tensor:
    """The value itself if it is a tensor; else the AttributeError for the first attribute that PyTorch reads."""
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, name)
    return tensor


def _written(tensor: Any, method: str, *args: Any, **named: Any) -> Tensor:
    """The tensor after a call of one of its in-place methods; the graph does not record it."""
    checked = _checked(tensor, method)
    with recording(False):
        catalog.method(method).method(checked, args, named)
    return checked


def _draw_uniform(tensor: Any, low: float, high: float, source: Any) -> Tensor:
    return _written(tensor, "uniform_", low, high, generator=source)


def _draw_normal(tensor: Any, mean: float, std: float, source: Any) -> Tensor:
    return _written(tensor, "normal_", mean, std, generator=source)


@Routine
def uniform_(tensor: Any, a: Any = 0.0, b: Any = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform draws between a and b."""
    return _draw_uniform(tensor, number(a), number(b), generator)


@Routine
def normal_(tensor: Any, mean: Any = 0.0, std: Any = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal draws."""
    return _draw_normal(tensor, number(mean), number(std), generator)


@Routine
def constant_(tensor: Any, val: Any) -> Tensor:
    """Fill with one value."""
    return _written(tensor, "fill_", val)


@Routine
def ones_(tensor: Any) -> Tensor:
    """Fill with ones."""
    return _written(tensor, "fill_", 1.0)


@Routine
def zeros_(tensor: Any) -> Tensor:
    """Fill with zeros."""
    return _written(tensor, "zero_")


@Routine
def eye_(tensor: Any) -> Tensor:
    """Fill a matrix with zeros, and its diagonal with ones."""
    if _checked(tensor, "ndimension").array.ndim != 2:
        raise shape_error("Only tensors with 2 dimensions are supported", "ValueError")
    return _fill(tensor, np.eye(*tensor.array.shape))


def fans(tensor: Any) -> tuple[int, int]:
    """The number of inputs that an output is made of, and of outputs that an input goes into. ValueError below 2 dimensions."""
    shape = _checked(tensor).array.shape
    if len(shape) < 2:
        raise shape_error("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", "ValueError")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_FANS = Routine(fans, "_calculate_fan_in_and_fan_out")


@Routine
def xavier_uniform_(tensor: Any, gain: Any = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform draws of variance gain**2 * 2 / (fan in + fan out)."""
    fan_in, fan_out = fans(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return _draw_uniform(tensor, -bound, bound, generator)


@Routine
def xavier_normal_(tensor: Any, gain: Any = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal draws of variance gain**2 * 2 / (fan in + fan out)."""
    fan_in, fan_out = fans(tensor)
    return _draw_normal(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor: Any, a: Any, mode: Any, nonlinearity: Any) -> float | None:
    if 0 in _checked(tensor, "shape").array.shape:
        warnings.emit("Initializing zero-element tensors is a no-op")
        return None
    wanted = mode.lower() if isinstance(mode, str) else mode
    if wanted not in ("fan_in", "fan_out"):
        raise ProgramError("ValueError", f"Mode {formatted(wanted)} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[wanted == "fan_out"]
    return float(calculate_gain(nonlinearity, a) / math.sqrt(fan))


@Routine
def kaiming_uniform_(tensor: Any, a: Any = 0, mode: Any = "fan_in", nonlinearity: Any = "leaky_relu", generator: Any = None) -> Tensor:
    """Fill with uniform draws of variance gain**2 / fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return _checked(tensor)
    bound = math.sqrt(3.0) * std
    return _draw_uniform(tensor, -bound, bound, generator)


@Routine
def kaiming_normal_(tensor: Any, a: Any = 0, mode: Any = "fan_in", nonlinearity: Any = "leaky_relu", generator: Any = None) -> Tensor:
    """Fill with normal draws of variance gain**2 / fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return _checked(tensor) if std is None else _draw_normal(tensor, 0.0, std, generator)


def _below(x: float) -> float:
    """The probability that a standard normal number is below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@Routine
def trunc_normal_(tensor: Any, mean: Any = 0.0, std: Any = 1.0, a: Any = -2.0, b: Any = 2.0, generator: Any = None) -> Tensor:
    """Fill with normal draws within [a, b], by rejection: of normal draws if they are often within, else of uniform draws."""
    t = _checked(tensor, "is_meta")
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.emit("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.")
    if _below((b - mean) / std) - _below((a - mean) / std) > _OFTEN:
        made = np.array(_draw_normal(t, mean, std, generator).array)
        low, high = made.dtype.type(a), made.dtype.type(b)
        while (outside := (made < low) | (made > high)).any():
            made = np.where(outside, _draw_normal(t, mean, std, generator).array, made)
        return _fill(t, made)
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    made = np.array(_draw_uniform(t, a, b, generator).array)
    pending = _rejected(t, made, mean, std, peak, generator)
    while pending.any():
        draws = np.array(_draw_uniform(t, a, b, generator).array)
        made = np.where(pending, draws, made)
        pending = pending & _rejected(t, draws, mean, std, peak, generator)
    return _fill(t, made)


#: normal draws are rejected if at least this share of them is within the bounds, else uniform draws are
_OFTEN = 0.3


def _rejected(t: Tensor, draws: Array, mean: float, std: float, peak: float, source: Any) -> Array:
    """Which draws are rejected: where the logarithm of a uniform draw is above that of the density, relative to its peak."""
    kind = draws.dtype.type
    density = ((draws - kind(mean)) / kind(std)) ** 2 * kind(-0.5) - kind(peak)
    with np.errstate(divide="ignore"):
        return np.array(np.log(_draw_uniform(t, 0.0, 1.0, source).array) > density)


@Routine
def orthogonal_(tensor: Any, gain: Any = 1, generator: Any = None) -> Tensor:
    """Fill with orthonormal rows, or columns if there are fewer, times gain (Saxe et al. 2013)."""
    t = _checked(tensor, "ndimension")
    shape = t.array.shape
    if len(shape) < 2:
        raise shape_error("Only tensors with 2 or more dimensions are supported", "ValueError")
    if not t.array.size:
        return t
    rows, columns = shape[0], t.array.size // shape[0]
    draws = generator_of(generator).normal((rows, columns), t.dtype)
    limits.check_work(rows * columns * min(rows, columns))
    q, r = np.linalg.qr(draws.T if rows < columns else draws)
    q = q * np.sign(np.diagonal(r))
    return _fill(t, (q.T if rows < columns else q).reshape(shape) * t.dtype.np.type(gain))


@Routine
def sparse_(tensor: Any, sparsity: Any, std: Any = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal draws, and a part of each column with zeros (Martens 2010)."""
    t = _checked(tensor, "ndimension")
    if t.array.ndim != 2:
        raise shape_error("Only tensors with 2 dimensions are supported", "ValueError")
    rows, columns = t.array.shape
    made = np.array(_draw_normal(t, 0, number(std), generator).array)
    for column in range(columns):
        made[generator_of(None).randperm(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _fill(t, made)


_LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")


@Routine
def calculate_gain(nonlinearity: Any, param: Any = None) -> float:
    """The factor by which a nonlinearity shrinks the standard deviation of its input."""
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ProgramError("ValueError", f"Unsupported nonlinearity {formatted(nonlinearity)}")
    if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
        raise ProgramError("ValueError", f"negative_slope {formatted(param)} not a valid number")
    slope = 0.01 if param is None else param
    return math.sqrt(2.0 / (1 + slope**2))


@Routine
def dirac_(tensor: Any, groups: Any = 1) -> Tensor:
    """Fill the weight of a convolution with zeros and, in the middle of each kernel's own channel, a one: it returns its input."""
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, "ndimension")
    shape = tensor.array.shape
    if len(shape) not in (3, 4, 5):
        raise shape_error("Only tensors with 3, 4, or 5 dimensions are supported", "ValueError")
    if shape[0] % groups:
        raise ProgramError("ValueError", "dim 0 must be divisible by groups")
    made = np.zeros(shape, tensor.dtype.np)
    each = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for channel in range(min(each, shape[1])):
            made[(group * each + channel, channel, *middle)] = 1
    return _fill(tensor, made)


# --- deprecated names ---


def _deprecated(current: Routine) -> Routine:
    """A function under its deprecated name, which has no underscore at the end."""
    name = current.name.removesuffix("_")

    def warned(*args: Any, **kwargs: Any) -> Any:
        """The deprecated name of the function with an underscore."""
        warnings.emit(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", "FutureWarning")
        return current(*args, **kwargs)

    return Routine(warned, name)


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)
