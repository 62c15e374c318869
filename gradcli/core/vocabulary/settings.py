"""The default dtype, print options and other settings of `torch`."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

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
