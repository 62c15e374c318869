"""The default dtype, print options and other settings of `torch`."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

# --- dtypes and printing ---


def _get_default_dtype() -> DType:
    return dtypes.get_default()


def _set_default_dtype(d: Any) -> None:
    dtype = d if isinstance(d, DType) else language.as_dtype(d)
    if dtype is None:
        raise ProgramError("TypeError", "invalid dtype object: only floating-point types are supported as the default type")
    dtypes.set_default(dtype)


def _set_printoptions(
    precision: Any = None, threshold: Any = None, edgeitems: Any = None, linewidth: Any = None, profile: Any = None, sci_mode: Any = None
) -> None:
    printing.options = printing.options.copy()  # results refer to the options that they were made under
    printing.set_printoptions(
        printing.options,
        # PyTorch only puts it into a format
        precision=int(precision) if isinstance(precision, str) and precision.isdecimal() else precision,
        threshold=threshold,
        edgeitems=edgeitems,
        linewidth=linewidth,
        profile=profile,
        sci_mode=sci_mode,
    )


def _is_tensor(obj: Any) -> bool:
    return type(obj) is Tensor


GET_DEFAULT_DTYPE = Routine(_get_default_dtype, "get_default_dtype")
SET_DEFAULT_DTYPE = Routine(_set_default_dtype, "set_default_dtype")
SET_PRINTOPTIONS = Routine(_set_printoptions, "set_printoptions")
IS_TENSOR = Routine(_is_tensor, "is_tensor")


# --- what has no effect here, because the answer does not depend on it ---


#: more threads than any machine has
_MOST_THREADS = 1 << 16


def _set_num_threads(num_threads: int) -> None:
    """Accepted and without effect: it changes how long PyTorch takes, never what it answers."""
    if not isinstance(num_threads, int):
        raise ProgramError("TypeError", f"set_num_threads expects an int, but got {language.type_name(num_threads)}")
    if num_threads <= 0:
        raise runtime_error("set_num_threads expects a positive integer")
    if num_threads > _MOST_THREADS:
        raise runtime_error(f"set_num_threads: there is no machine with {num_threads:,} threads")


def _get_num_threads() -> int:
    return 1


def _use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    if type(mode) is not bool:
        kind = language.type_name(mode)
        raise ProgramError("TypeError", f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {kind}")
    state.deterministic = mode


def _set_flush_denormal(mode: Any) -> bool:
    """Whether tiny numbers are treated as wanted: they are always kept, never made 0."""
    if type(mode) is not bool:
        raise runtime_error(f"flush_denormal expects a bool, but got {language.type_name(mode)}")
    return not mode


SET_FLUSH_DENORMAL = Routine(_set_flush_denormal, "set_flush_denormal")
SET_NUM_THREADS = Routine(_set_num_threads, "set_num_threads")
GET_NUM_THREADS = Routine(_get_num_threads, "get_num_threads")
USE_DETERMINISTIC_ALGORITHMS = Routine(_use_deterministic_algorithms, "use_deterministic_algorithms")
