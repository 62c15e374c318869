"""Short-time Fourier transforms, of windows of a signal, and their inverse."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.signature import Signature
from gradcli.core.calling.type_errors import not_one_element, type_error, unsupported_operands
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.kernels.memory_format import element_strides
from gradcli.core.ops.checks import check_size, with_method, wrap_dim
from gradcli.core.ops.fourier.records import C2C, C2R, R2C
from gradcli.core.ops.shape.as_strided import as_strided
from gradcli.core.ops.shape.slicing import SLICE, UNFOLD_BACK
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error

_SOURCE = "/__w/pytorch/pytorch/aten/src/ATen/native/SpectralOps.cpp"
_NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows such as "
    "torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and use a rectangular "
    f"window, explicitly set `window=torch.ones(n_fft, device=<device>)`. (Triggered internally at {_SOURCE}:835.)"
)
_NO_WINDOW_BACK = (
    "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to make the inversion "
    "lossless.To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`. "
    f"(Triggered internally at {_SOURCE}:1035.)"
)
_PARTS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all inputs, and "
    "return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output to recover the old "
    f"return format. (Triggered internally at {_SOURCE}:874.)"
)
_TOO_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check your center "
    f"and hop_length settings. (Triggered internally at {_SOURCE}:1199.)"
)


def _written(value: Any) -> str:
    """An argument as PyTorch's errors write it: truth values as numbers."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _called(name: str, input: Tensor, sizes: dict[str, int], window: Tensor | None, options: dict[str, Any]) -> str:
    """The call as PyTorch's errors begin with it."""
    held = "None" if window is None else f"{window.dtype.tensor_name}{{{list(window.array.shape)}}}"
    numbers = ", ".join(f"{key}={value}" for key, value in sizes.items())
    rest = ", ".join(f"{key}={_written(value)}" for key, value in options.items())
    return f"{name}({input.dtype.tensor_name}{list(input.array.shape)}, {numbers}, window={held}, {rest}) "


def _centred(window: Tensor, n_fft: int) -> Tensor:
    """A window with zeros on both sides, of n_fft elements."""
    missing = n_fft - window.array.shape[0]
    if not missing:
        return window
    return catalog.function("nn.functional.pad")(window, (missing // 2, missing - missing // 2))  # type: ignore[no-any-return]


def _method(name: str, tensor: Tensor, *args: Any) -> Tensor:
    made: Tensor = catalog.method(name).method(tensor, args, {})
    return made


def _half_only(half: bool | None, *tensors: Tensor | None) -> bool:
    """Whether the second half of the frequencies, which mirrors the first, is left out. RuntimeError for complex tensors."""
    whole = any(tensor is not None and tensor.dtype.is_complex for tensor in tensors)
    if half and whole:
        raise runtime_error("Cannot have onesided output if window or input is complex")
    return not whole if half is None else half


def _extended(input: Any, n_fft: Any, pad_mode: Any) -> Tensor:
    """The signal with half a window more at both ends. Raises AttributeError, TypeError and RuntimeError."""
    shape = with_method(input, "dim").array.shape
    if type(n_fft) not in (int, float, bool, Tensor):
        raise unsupported_operands("//", n_fft, 0)
    if type(n_fft) is Tensor and n_fft.array.size != 1:
        raise not_one_element()
    pad = int(n_fft.item() if type(n_fft) is Tensor else n_fft) // 2
    wide = _method("view", input, (*(1,) * (3 - len(shape)), *shape))
    if not isinstance(pad_mode, str):
        raise type_error("pad(): argument 'mode' (position 3) must be str, not {}", pad_mode)
    wide = catalog.function("nn.functional.pad")(wide, [pad, pad], pad_mode)
    return _method("view", wide, wide.array.shape[-len(shape) :])


def stft(
    x: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """Frequencies by windows of a signal, (batch, time): the result is (batch, frequencies, windows).

    Raises RuntimeError for sizes that do not fit, LimitError for results that are too large.
    """
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    options = {"normalized": normalized, "onesided": onesided, "return_complex": return_complex, "align_to_window": align_to_window}
    call = _called("stft", x, {"n_fft": n_fft, "hop_length": hop, "win_length": width}, window, options)
    if window is None:
        warnings.emit(_NO_WINDOW, once="stft without window")
    whole = return_complex
    if whole is None:
        whole = x.dtype.is_complex or (window is not None and window.dtype.is_complex)
        if not whole:
            text = "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True"
            raise runtime_error(f"{text} in a future PyTorch release.")
    elif not whole:
        warnings.emit(_PARTS, once="stft of parts")
    _check_signal(call, x, n_fft, hop, width, window)
    half = _half_only(onesided, x, window)
    single = x.array.ndim == 1
    x = _method("unsqueeze", x, 0) if single else x
    if align_to_window:
        x = catalog.function("nn.functional.pad")(x, ((n_fft - width) // 2, n_fft - width - (n_fft - width) // 2))
    frames = _windows_of(x, n_fft, hop)
    if window is not None or width < n_fft:
        given = catalog.function("ones")(width, dtype=x.dtype) if window is None else window
        frames = frames * _centred(given, n_fft)
    if frames.dtype in (dtypes.float16, dtypes.bfloat16):
        raise runtime_error(f"MKL FFT doesn't support tensors of type: {frames.dtype.torch_name}")
    made: Tensor = C2C(frames, (2,), int(normalized), True) if frames.dtype.is_complex else R2C(frames, (2,), int(normalized), half)
    made = _method("transpose_", made, 1, 2)
    made = _method("squeeze_", made, 0) if single else made
    return made if whole else catalog.function("view_as_real")(made)


def _of_signal(input: Any, n_fft: Any, hop: Any, width: Any, window: Any, center: Any, pad_mode: Any, *more: Any) -> Tensor:
    """`torch.stft`, which PyTorch writes in Python: the signal is extended before the other arguments are looked at."""
    if center:
        if more[-1] is not None:
            raise runtime_error("stft align_to_window should only be set when center = false")
        input = _extended(input, n_fft, pad_mode)
    return _STFT.call((input, n_fft, hop, width, window, *more), {})  # type: ignore[no-any-return]


def _extended_twice(*_: Any) -> Tensor:
    """The overload that extends the signal itself, which PyTorch takes where the last arguments fit its `center` and `pad_mode`."""
    raise runtime_error("stft with `onesided` for `pad_mode` is not part of gradcli")


def _check_signal(call: str, x: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None) -> None:
    if not x.dtype.is_differentiable:
        raise runtime_error(f"{call}: expected a tensor of floating point or complex values")
    if not 0 < x.array.ndim <= 2:
        raise runtime_error(f"{call}: expected a 1D or 2D tensor")
    size = x.array.shape[-1]
    if not 0 < n_fft <= size:
        raise runtime_error(f"{call}: expected 0 < n_fft < {size}, but got n_fft={width}")  # PyTorch's text has the width
    if hop <= 0:
        raise runtime_error(f"{call}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise runtime_error(f"{call}: expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and window.array.shape != (width,):
        sizes = list(window.array.shape)
        raise runtime_error(f"{call}: expected a 1D window tensor of size equal to win_length={width}, but got window with size {sizes}")


def _windows_of(x: Tensor, n_fft: int, hop: int) -> Tensor:
    batch, size = x.array.shape
    shape = (batch, 1 + (size - n_fft) // hop, n_fft)
    check_size(shape, 16)
    rows, step = element_strides(x.array)
    return as_strided(x, shape, (rows, hop * step, step))


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Tensor:
    """The signal whose `stft` is nearest to the input, (batch, frequencies, windows). Raises RuntimeError, LimitError."""
    if window is None:
        warnings.emit(_NO_WINDOW_BACK, once="istft without window")
    if not input.dtype.is_complex:
        raise runtime_error("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    options = {"center": center, "normalized": normalized, "onesided": onesided, "length": length, "return_complex": return_complex}
    call = _called("istft", input, {"n_fft": n_fft, "hop_length": hop, "win_length": width}, window, options)
    half = _check_spectrum(call, input, n_fft, hop, width, window, onesided)
    if return_complex:
        _half_only(half, input)
    elif window is not None and window.dtype.is_complex:
        raise runtime_error("Complex windows are incompatible with return_complex=False")
    real = input.dtype.real
    given = catalog.function("ones")(width, dtype=real) if window is None else window
    weights = _centred(given, n_fft)
    parts = catalog.function("view_as_real")(input)
    parts = _method("unsqueeze", parts, 0) if input.array.ndim == 2 else parts
    spectrum = catalog.function("view_as_complex")(catalog.function("transpose")(parts, 1, 2))
    frames = _inverse(spectrum, n_fft, 1 if normalized else 2, half, return_complex)
    batch, count = frames.array.shape[:2]
    size = n_fft + hop * (count - 1)
    limits.check_elements(batch * size, 16)
    y = UNFOLD_BACK(frames * _method("view", weights, (1, 1, n_fft)), 1, n_fft, hop, (batch, size))
    squares = _method("expand", catalog.function("pow")(weights, 2), (1, count, n_fft))
    envelope = UNFOLD_BACK(squares, 1, n_fft, hop, (1, size))
    start = n_fft // 2 if center else 0
    end = size - n_fft // 2 if center else size
    end = end if length is None else start + length
    stop = end + size if end < 0 else end
    y, envelope = (SLICE(one, 1, min(start, size), max(min(start, size), min(stop, size)), 1) for one in (y, envelope))
    lowest = abs(envelope.array).min(initial=1.0) if envelope.array.size else None
    if lowest is None:
        text = "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument."
        raise runtime_error(text)
    if lowest < 1e-11:
        raise runtime_error(f"{call}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    y = y / envelope
    y = catalog.function("squeeze")(y, 0) if input.array.ndim == 2 else y
    if end > size:
        warnings.emit(_TOO_SHORT)
        limits.check_elements(batch * end, 16)
        y = catalog.function("nn.functional.pad")(y, (0, end - size))
    made: Tensor = y
    return made


def _inverse(spectrum: Tensor, n_fft: int, normalization: int, half: bool, whole: bool) -> Tensor:
    """The windows of the signal that have these frequencies."""
    made: Tensor
    if whole:
        made = C2C(spectrum, (2,), normalization, False)
        return made
    if not half:
        spectrum = SLICE(spectrum, 2, 0, n_fft // 2 + 1, 1)
    made = C2R(spectrum, (2,), normalization, n_fft)
    return made


def _check_spectrum(call: str, x: Tensor, n_fft: int, hop: int, width: int, window: Tensor | None, onesided: bool | None) -> bool:
    """Whether the second half of the frequencies is left out. Raises RuntimeError for sizes that do not fit."""
    rank = x.array.ndim
    if rank < 2:
        wrap_dim(-2, rank + 1)
        wrap_dim(-3, rank + 1)
    if not x.array.size:
        raise runtime_error(f"{call}: input tensor cannot be empty.")
    if rank not in (2, 3):
        raise runtime_error(f"{call}: expected a tensor with 3 or 4 dimensions, but got {rank + 1}")
    count = x.array.shape[-2]
    half = count != n_fft if onesided is None else onesided
    if count != (n_fft // 2 + 1 if half else n_fft):
        wanted = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        text = f"expected the frequency dimension (3rd to the last) of the input tensor to match {wanted}, but got {count}"
        raise runtime_error(f"{call}: {text}")
    if not 0 < hop <= width:
        raise runtime_error(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise runtime_error(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and window.array.shape != (width,):
        raise runtime_error(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")
    return half


_SIZES = "Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
_FORM = "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None"
_STFT = Parser(
    "stft",
    [Signature(f'{_SIZES}bool center=True, str pad_mode="reflect", {_FORM}', _extended_twice), Signature(f"{_SIZES}{_FORM}", stft)],
)
_BACK = f"{_SIZES}bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False"
_ISTFT = Parser("istft", [Signature(_BACK, istft)])
#: the arguments of PyTorch's functions in Python, which checks none of their types
_ANY = "Tensor input, any n_fft, any hop_length=None, any win_length=None, any window=None, any center=True, "
_ANY_FORM = 'any pad_mode="reflect", any normalized=False, any onesided=None, any return_complex=None, any align_to_window=None'
_X: Any = [0.5, -1.5, 2.0, 0.25, 1.0, -0.75]

FUNCTIONS = (
    Function(
        "stft",
        (f"{_ANY}{_ANY_FORM}".replace("Tensor", "any", 1), _of_signal),
        doc="Fourier transforms of windows of a signal.",
        ops=(R2C, C2C),
        samples=(Sample("torch.view_as_real(torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True))", None, x=_X),),
        method=False,
        python="stft",
    ),
    Function(
        "Tensor.stft",
        (f"{_ANY}{_ANY_FORM}", _of_signal),
        doc="Fourier transforms of windows of a signal.",
        function=False,
        python="Tensor.stft",
    ),
    Function(
        "istft",
        (_BACK, istft),
        doc="The signal of which stft gives the transforms of windows.",
        ops=(C2R, C2C),
        samples=(Sample("torch.istft(torch.complex(x.reshape(3, 2), y), 4, 1)", None, x=_X, y=[[0.5, 1.0], [0.25, -1.0], [1.5, 0.5]]),),
        method=False,
    ),
    Function(
        "Tensor.istft",
        (f"{_ANY}any normalized=False, any onesided=None, any length=None, any return_complex=False", lambda *args: _ISTFT.call(args, {})),
        doc="The signal of which stft gives the transforms of windows.",
        function=False,
        python="Tensor.istft",
    ),
)
