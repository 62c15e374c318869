"""torch.fft: discrete Fourier transforms, and functions around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Sample
from gradcli.core.graph.conjugate import conj
from gradcli.core.graph.record import Op
from gradcli.core.ops.checks import check_size, not_implemented, own_dim, wrap_dim
from gradcli.core.ops.create.leaf import making
from gradcli.core.ops.create.ranges import counted_out
from gradcli.core.ops.fourier.fourier_function import FourierFunction, fourier_out
from gradcli.core.ops.fourier.records import C2C, C2R, PADDED, R2C
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.ops.shape.slicing import SLICE
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

Sizes = Sequence[int] | None
Norm = str | None


# --- arguments ---


def _promoted(input: Tensor, to_complex: bool) -> Tensor:
    """A tensor of a dtype that is transformed: integers become floating. Raises RuntimeError for half precision."""
    dtype = input.dtype
    if dtype is dtypes.float16 or dtype is dtypes.bfloat16:
        raise runtime_error(f"Unsupported dtype {dtype.torch_name}")
    if not dtype.is_differentiable:
        dtype = dtypes.get_default()
    return to_dtype(input, dtypes.complex_of(dtype) if to_complex and not dtype.is_complex else dtype)


def _normalization(norm: Norm, forward: bool) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise runtime_error(f'Invalid normalization mode: "{norm}"')


def _check_points(n: int) -> None:
    if n < 1:
        raise runtime_error(f"Invalid number of data points ({n}) specified")


def _resized(input: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """The input cut, or continued with zeros, to a size in each of some dimensions; -1 keeps a dimension."""
    shape = list(input.array.shape)
    for dim, size in zip(dims, sizes, strict=True):
        shape[dim] = shape[dim] if size == -1 else size
    check_size(shape, input.dtype.itemsize)
    for dim, size in zip(dims, sizes, strict=True):
        if size != -1 and size < input.array.shape[dim]:
            input = SLICE(input, dim, 0, size, 1)
    if tuple(shape) == input.array.shape:
        return input
    pads = [n for k in reversed(range(len(shape))) for n in (0, shape[k] - input.array.shape[k])]
    while pads[-2:] == [0, 0]:
        del pads[-2:]
    return PADDED(input, tuple(pads))  # type: ignore[no-any-return]


def _shape_and_dims(input: Tensor, s: Sizes, dim: Sizes) -> tuple[list[int], list[int]]:
    """The sizes of a transform over several dimensions, and the dimensions. Raises RuntimeError where they do not fit."""
    rank = input.array.ndim
    dims = None if dim is None else [own_dim(input, d) for d in dim]
    if dims is not None and len(set(dims)) != len(dims):
        raise runtime_error("FFT dims must be unique")
    if s is None:
        dims = list(range(rank)) if dims is None else dims
        sizes = [input.array.shape[d] for d in dims]
    else:
        if dims is not None and len(s) != len(dims):
            raise runtime_error("When given, dim and shape arguments must have the same length")
        if len(s) > rank:
            raise runtime_error(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        dims = list(range(rank - len(s), rank)) if dims is None else dims
        sizes = [input.array.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    for n in sizes:
        _check_points(n)
    return sizes, dims


def _half_shape(name: str, input: Tensor, s: Sizes, dim: Sizes) -> tuple[list[int], list[int], int]:
    """As `_shape_and_dims` for a transform to real numbers: its input has half of the last size, which is returned too."""
    given = None if s is None else list(s)
    sizes, dims = _shape_and_dims(input, given, dim)
    if not dims:
        raise runtime_error(f"{name} must transform at least one axis")
    last = 2 * (input.array.shape[dims[-1]] - 1) if given is None or given[-1] == -1 else given[-1]
    _check_points(last)
    sizes[-1] = last // 2 + 1
    return sizes, dims, last


# --- transforms along one dimension ---


def _complex_one(input: Tensor, n: int | None, dim: int, norm: Norm, forward: bool) -> Tensor:
    at = own_dim(input, dim)
    size = input.array.shape[at] if n is None else n
    _check_points(size)
    code = _normalization(norm, forward)
    return C2C(_resized(_promoted(input, True), (at,), (size,)), (at,), code, forward)  # type: ignore[no-any-return]


def _real_one(name: str, input: Tensor, n: int | None, dim: int, norm: Norm, forward: bool, onesided: bool) -> Tensor:
    if input.dtype.is_complex:
        raise runtime_error(f"{name} expects a real input tensor, but got {input.dtype.torch_name}")
    x = _promoted(input, False)
    at = own_dim(input, dim)
    size = input.array.shape[at] if n is None else n
    _check_points(size)
    made: Tensor = R2C(_resized(x, (at,), (size,)), (at,), _normalization(norm, forward), onesided)
    return made if forward else conj(made)


def _to_real_one(input: Tensor, n: int | None, dim: int, norm: Norm, forward: bool) -> Tensor:
    x = _promoted(input, True)
    at = own_dim(input, dim)
    size = 2 * (input.array.shape[at] - 1) if n is None else n
    _check_points(size)
    x = _resized(x, (at,), (size // 2 + 1,))
    return C2R(conj(x) if forward else x, (at,), _normalization(norm, forward), size)  # type: ignore[no-any-return]


def _two_sided(name: str, forward: bool) -> Callable[..., Tensor]:
    def run(input: Tensor, n: int | None, dim: int, norm: Norm) -> Tensor:
        if input.dtype.is_complex:
            return _complex_one(input, n, dim, norm, forward)
        return _real_one(name, input, n, dim, norm, forward, False)

    return run


# --- transforms along several dimensions ---


def _complex_many(forward: bool) -> Callable[..., Tensor]:
    def run(input: Tensor, s: Sizes, dim: Sizes, norm: Norm) -> Tensor:
        sizes, dims = _shape_and_dims(input, s, dim)
        x = _resized(_promoted(input, True), dims, sizes)
        return C2C(x, tuple(dims), _normalization(norm, forward), forward)  # type: ignore[no-any-return]

    return run


def _rfftn(input: Tensor, s: Sizes, dim: Sizes, norm: Norm) -> Tensor:
    if input.dtype.is_complex:
        raise runtime_error(f"rfftn expects a real-valued input tensor, but got {input.dtype.torch_name}")
    sizes, dims = _shape_and_dims(input, s, dim)
    if not dims:
        raise runtime_error("rfftn must transform at least one axis")
    return R2C(_resized(_promoted(input, False), dims, sizes), tuple(dims), _normalization(norm, True), True)  # type: ignore[no-any-return]


def _irfftn(input: Tensor, s: Sizes, dim: Sizes, norm: Norm) -> Tensor:
    sizes, dims, last = _half_shape("irfftn", input, s, dim)
    x = _resized(_promoted(input, True), dims, sizes)
    return C2R(x, tuple(dims), _normalization(norm, False), last)  # type: ignore[no-any-return]


def _hfftn(input: Tensor, s: Sizes, dim: Sizes, norm: Norm) -> Tensor:
    sizes, dims, last = _half_shape("hfftn", input, s, dim)
    x = _resized(_promoted(input, True), dims, sizes)
    code = _normalization(norm, True)
    if len(dims) > 1:
        x = C2C(x, tuple(dims[:-1]), code, True)
    return C2R(conj(x), (dims[-1],), code, last)  # type: ignore[no-any-return]


def _ihfftn(input: Tensor, s: Sizes, dim: Sizes, norm: Norm) -> Tensor:
    sizes, dims = _shape_and_dims(input, s, dim)
    if not dims:
        raise runtime_error("ihfftn must transform at least one axis")
    x: Tensor = _resized(_promoted(input, False), dims, sizes)
    code = _normalization(norm, False)
    if x.dtype.is_complex:
        raise runtime_error(f"Only supports floating-point dtypes, but found: {x.dtype.torch_name}")
    x = R2C(x, (dims[-1],), code, True)
    if len(dims) == 1:
        return conj(x)
    return C2C(catalog.function("conj_physical")(x), tuple(dims[:-1]), code, False)  # type: ignore[no-any-return]


# --- frequencies and shifts ---


def _frequencies(name: str, half: bool) -> Callable[..., Any]:
    def run(n: int, d: float, dtype: DType | None) -> tuple[Any, DType]:
        wanted = dtype or dtypes.get_default()
        count = int(n / 2) + 1 if half else n
        if count >= 0:
            _check_dtype(name, wanted)
        if count < 0:
            raise runtime_error(f"Trying to create tensor with negative dimension {count}: [{count}]")
        if wanted.is_complex:
            raise not_implemented("arange_cpu", wanted)
        check_size((count,), wanted.itemsize)
        steps = np.arange(count)
        if not half:
            steps = np.where(steps < (n + 1) // 2, steps, steps - n)
        return dtypes.cast(steps.astype(wanted.np) * wanted.np.type(1.0 / (n * d) if n * d else np.inf), wanted), wanted

    return run


def _check_dtype(name: str, dtype: DType) -> None:
    if not dtype.is_differentiable:
        raise runtime_error(f"{name} requires a floating point or complex dtype")


def _check_count(name: str, half: bool) -> Callable[[list[Any], Tensor], None]:
    def check(values: list[Any], out: Tensor) -> None:
        _check_dtype(name, out.dtype)
        if out.dtype.is_complex:
            raise not_implemented("arange_cpu", out.dtype)
        if (int(values[0] / 2) + 1 if half else values[0]) < 0:
            raise runtime_error("upper bound and lower bound inconsistent with step sign")

    return check


def _shift(direction: int) -> Callable[[Tensor, Sizes], Tensor]:
    def run(input: Tensor, dim: Sizes) -> Tensor:
        rank = input.array.ndim
        if dim and not rank:
            raise shape_error(f"Dimension specified as {dim[0]} but tensor has no dimensions", "IndexError")
        dims = tuple(range(rank)) if dim is None else tuple(wrap_dim(d, rank) for d in dim)
        sizes = [input.array.shape[d] for d in dims]
        shifts = tuple(n // 2 if direction > 0 else (n + 1) // 2 for n in sizes)
        return catalog.function("roll")(input, shifts, dims)  # type: ignore[no-any-return]

    return run


_ONE = "Tensor input, symint? n=None, int dim=-1, str? norm=None"
_TWO = "Tensor input, ints1? s=None, ints1 dim={-2,-1}, str? norm=None"
_MANY = "Tensor input, ints1? s=None, ints1? dim=None, str? norm=None"
_X = [0.5, -1.5, 2.0, 0.25]
_M = [[0.5, -1.5, 2.0], [1.5, 0.25, -3.0]]


def _family(name: str, one: Callable[..., Tensor], many: Callable[..., Tensor], what: str, op: Op) -> tuple[FourierFunction, ...]:
    """The transform along one dimension, along two, and along several, by default all."""
    text = "torch.fft.{}(x)" if op is C2R else "(lambda z: z.real + 2 * z.imag)(torch.fft.{}(x))"
    change = np.real if op is C2R else _parts
    return tuple(
        FourierFunction(
            f"{name}{suffix}",
            (signature, run),
            doc=f"{what}{more}.",
            ops=(op,),
            samples=(Sample(text.format(f"{name}{suffix}"), _numpy(f"{name}{suffix}", change), x=_M),),
            out=fourier_out(f"{name}{suffix}"),
        )
        for suffix, signature, run, more in (
            ("", _ONE, one, " along a dimension"),
            ("2", _TWO, many, " along two dimensions"),
            ("n", _MANY, many, " along several dimensions, by default all"),
        )
    )


def _numpy(name: str, change: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """The same transform by numpy, where it has it."""
    return (lambda x: change(getattr(np.fft, name)(x))) if hasattr(np.fft, name) else None


def _parts(z: Any) -> Any:
    return np.real(z) + 2 * np.imag(z)


def _rfft(input: Tensor, n: int | None, dim: int, norm: Norm) -> Tensor:
    return _real_one("rfft", input, n, dim, norm, True, True)


def _ihfft(input: Tensor, n: int | None, dim: int, norm: Norm) -> Tensor:
    return _real_one("ihfft", input, n, dim, norm, False, True)


def _irfft(input: Tensor, n: int | None, dim: int, norm: Norm) -> Tensor:
    return _to_real_one(input, n, dim, norm, False)


def _hfft(input: Tensor, n: int | None, dim: int, norm: Norm) -> Tensor:
    return _to_real_one(input, n, dim, norm, True)


FUNCTIONS = (
    *_family("fft", _two_sided("fft", True), _complex_many(True), "The discrete Fourier transform", C2C),
    *_family("ifft", _two_sided("ifft", False), _complex_many(False), "The inverse of the Fourier transform", C2C),
    *_family("rfft", _rfft, _rfftn, "The first half of the Fourier transform of real numbers", R2C),
    *_family("irfft", _irfft, _irfftn, "The inverse of rfft", C2R),
    *_family("hfft", _hfft, _hfftn, "The Fourier transform of half of a hermitian signal", C2R),
    *_family("ihfft", _ihfft, _ihfftn, "The inverse of hfft", R2C),
    *(
        FourierFunction(
            name,
            making("int n, float d=1.0, *", _frequencies(name, half)),
            doc=f"The frequencies of the elements of {of}, for samples at a distance d.",
            samples=(Sample(f"torch.fft.{name}(5)"),),
            out=counted_out(f"fft_{name}", flat=half, inspect=_check_count(name, half)),
        )
        for name, half, of in (("fftfreq", False, "fft"), ("rfftfreq", True, "rfft"))
    ),
    *(
        FourierFunction(
            name,
            ("Tensor input, ints1? dim=None", _shift(direction)),
            doc=doc,
            samples=(Sample(f"torch.fft.{name}(x)", getattr(np.fft, name), x=_X),),
        )
        for name, direction, doc in (
            ("fftshift", 1, "The frequency 0 moved to the middle."),
            ("ifftshift", -1, "The frequency 0 moved back to the first place."),
        )
    ),
)
