"""Settings of how PyTorch computes. Answers do not depend on most of them: programs read back what they have set."""

from __future__ import annotations

from typing import Any, TypeVar

from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.vocabulary.torch_types import DEVICE, Device
from gradcli.errors import ProgramError, runtime_error

_T = TypeVar("_T")
#: more threads than any machine has
_MOST_THREADS = 1 << 16
_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}
_PRECISIONS = ("highest", "high", "medium")


class _WithoutArguments(Routine):
    """A function of C++ that takes no arguments."""

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = "keyword arguments" if kwargs else f"arguments ({len(args)} given)"
        raise ProgramError("TypeError", f"torch.{self.name}() takes no {given}")


def _set(name: str, value: Any) -> None:
    state.settings = {**state.settings, name: value}


def _setting(name: str, default: _T) -> _T:
    return state.settings.get(name, default)  # type: ignore[no-any-return]


# --- threads ---


def _check_threads(function: str, count: Any) -> None:
    if type(count) is not int:
        raise runtime_error(f"{function} expects an int, but got {language.type_name(count)}")
    if count <= 0:
        raise runtime_error(f"{function} expects a positive integer")
    if count > _MOST_THREADS:
        raise runtime_error(f"{function}: there is no machine with {count:,} threads")


def _set_num_threads(num_threads: int) -> None:
    """Accepted and without effect: it changes how long PyTorch takes, never what it answers."""
    _check_threads("set_num_threads", num_threads)
    _set("threads", num_threads)


def _get_num_threads() -> int:
    return _setting("threads", 1)


def _set_num_interop_threads(num_threads: int) -> None:
    """Accepted once, and without effect."""
    _check_threads("set_num_interop_threads", num_threads)
    if "interop" in state.settings:
        text = "cannot set number of interop threads after parallel work has started or set_num_interop_threads called"
        raise runtime_error(f"Error: {text}")
    _set("interop", num_threads)


def _get_num_interop_threads() -> int:
    return _setting("interop", 1)


# --- deterministic algorithms ---


def _deterministic(mode: Any, warn_only: Any = False) -> None:
    for name, value in (("argument 'mode' (position 1)", mode), ("argument 'warn_only'", warn_only)):
        if type(value) is not bool:
            text = f"_set_deterministic_algorithms(): {name} must be bool, not {language.type_name(value)}"
            raise ProgramError("TypeError", text)
    state.deterministic = mode
    _set("warn_only", warn_only)


def _use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    _deterministic(mode, warn_only)


def _are_deterministic_algorithms_enabled() -> bool:
    return state.deterministic


def _warns_only() -> bool:
    return _setting("warn_only", False)


def _set_deterministic_debug_mode(debug_mode: Any) -> None:
    if not isinstance(debug_mode, (int, str)):
        raise ProgramError("TypeError", f"debug_mode must be str or int, but got {language.type_repr(debug_mode)}")
    mode = _DEBUG_MODES.get(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        expected = "one of `default`, `warn`, `error`," if isinstance(debug_mode, str) else "0, 1, or 2,"
        raise runtime_error(f"invalid value of debug_mode, expected {expected} but got {debug_mode}")
    _deterministic(mode > 0, mode == 1)


def _get_deterministic_debug_mode() -> int:
    return (1 if _warns_only() else 2) if state.deterministic else 0


# --- precision ---


def _set_flush_denormal(mode: Any) -> bool:
    """Whether tiny numbers are treated as wanted: they are always kept, never made 0."""
    if type(mode) is not bool:
        raise runtime_error(f"flush_denormal expects a bool, but got {language.type_name(mode)}")
    return not mode


def _set_float32_matmul_precision(precision: Any) -> None:
    """Accepted: products of float32 are computed in float32 on the cpu. Warns of an unknown word."""
    if not isinstance(precision, str):
        raise runtime_error(f"set_float32_matmul_precision expects a str, but got {language.type_name(precision)}")
    if precision in _PRECISIONS:
        _set("precision", precision)
        return
    warnings.emit(
        f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect. "
        "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/Context.cpp:458.)"
    )


def _get_float32_matmul_precision() -> str:
    return _setting("precision", "highest")


def _device(name: Any) -> Device:
    return DEVICE(name)  # type: ignore[no-any-return]


def _is_autocast_enabled(device_type: Any = "cuda") -> bool:
    """False: autocast is off."""
    _device(device_type)
    return False


def _get_autocast_dtype(device_type: Any) -> DType:
    """What autocast of a device would cast to, if it were on."""
    return dtypes.bfloat16 if _device(device_type).kind == "cpu" else dtypes.float16


def _deprecated(name: str, instead: str, line: int) -> None:
    warnings.emit(
        f"torch.{name}() is deprecated. Please use torch.{instead} instead. (Triggered internally at "
        f"/__w/pytorch/pytorch/torch/csrc/autograd/init.cpp:{line}.)",
        "DeprecationWarning",
    )


def _is_autocast_cpu_enabled() -> bool:
    """False, with a warning."""
    _deprecated("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')", 883)
    return False


def _get_autocast_gpu_dtype() -> DType:
    """What autocast of a graphics processor would cast to, with a warning."""
    _deprecated("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')", 1007)
    return dtypes.float16


def _get_autocast_cpu_dtype() -> DType:
    """What autocast of the cpu would cast to, with a warning."""
    _deprecated("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')", 1016)
    return dtypes.bfloat16


def _always() -> bool:
    return True


def _never(*args: Any, **kwargs: Any) -> bool:
    return False


# --- warnings ---


def _set_warn_always(b: Any) -> None:
    """Whether warnings that are given once are given each time."""
    if type(b) is not bool:
        raise runtime_error(f"setWarnOnlyOnce expects a bool, but got {language.type_name(b)}")
    _set("warn_always", b)


def _is_warn_always_enabled() -> bool:
    return _setting("warn_always", False)


SET_NUM_THREADS = Routine(_set_num_threads, "set_num_threads")
GET_NUM_THREADS = _WithoutArguments(_get_num_threads, "get_num_threads")
SET_NUM_INTEROP_THREADS = Routine(_set_num_interop_threads, "set_num_interop_threads")
GET_NUM_INTEROP_THREADS = _WithoutArguments(_get_num_interop_threads, "get_num_interop_threads")
USE_DETERMINISTIC_ALGORITHMS = Routine(_use_deterministic_algorithms, "use_deterministic_algorithms")
ARE_DETERMINISTIC_ALGORITHMS_ENABLED = Routine(_are_deterministic_algorithms_enabled, "are_deterministic_algorithms_enabled")
IS_DETERMINISTIC_ALGORITHMS_WARN_ONLY_ENABLED = Routine(_warns_only, "is_deterministic_algorithms_warn_only_enabled")
SET_DETERMINISTIC_DEBUG_MODE = Routine(_set_deterministic_debug_mode, "set_deterministic_debug_mode")
GET_DETERMINISTIC_DEBUG_MODE = Routine(_get_deterministic_debug_mode, "get_deterministic_debug_mode")
SET_FLUSH_DENORMAL = Routine(_set_flush_denormal, "set_flush_denormal")
SET_FLOAT32_MATMUL_PRECISION = Routine(_set_float32_matmul_precision, "set_float32_matmul_precision")
GET_FLOAT32_MATMUL_PRECISION = Routine(_get_float32_matmul_precision, "get_float32_matmul_precision")
IS_AUTOCAST_ENABLED = Routine(_is_autocast_enabled, "is_autocast_enabled")
GET_AUTOCAST_DTYPE = Routine(_get_autocast_dtype, "get_autocast_dtype")
SET_WARN_ALWAYS = Routine(_set_warn_always, "set_warn_always")
IS_WARN_ALWAYS_ENABLED = Routine(_is_warn_always_enabled, "is_warn_always_enabled")
IS_AUTOCAST_CPU_ENABLED = _WithoutArguments(_is_autocast_cpu_enabled, "is_autocast_cpu_enabled")
IS_AUTOCAST_CACHE_ENABLED = _WithoutArguments(_always, "is_autocast_cache_enabled")
GET_AUTOCAST_GPU_DTYPE = _WithoutArguments(_get_autocast_gpu_dtype, "get_autocast_gpu_dtype")
GET_AUTOCAST_CPU_DTYPE = _WithoutArguments(_get_autocast_cpu_dtype, "get_autocast_cpu_dtype")
COMPILED_WITH_CXX11_ABI = Routine(_always, "compiled_with_cxx11_abi")
IS_VULKAN_AVAILABLE = Routine(_never, "is_vulkan_available")
