"""The dtypes of results: promote_types, result_type and can_cast, whose arguments are parsed as those of functions of tensors."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import Signature
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType


def _parsed(name: str, *signatures: Signature) -> Routine:
    parser = Parser(name, list(signatures))

    def run(*args: Any, **kwargs: Any) -> Any:
        return parser.call(args, kwargs)

    return Routine(run, name)


def _result_type(a: Any, b: Any) -> DType:
    return dtypes.result_type((a, b))


def _can_cast(from_: DType, to: DType) -> bool:
    return from_.category <= to.category


PROMOTE_TYPES = _parsed("promote_types", Signature("dtype type1, dtype type2", dtypes.promote))
RESULT_TYPE = _parsed(
    "result_type",
    Signature("Tensor tensor, Tensor other", _result_type),
    Signature("Number scalar, Tensor tensor", _result_type),
    Signature("Tensor tensor, Number other", _result_type),
    Signature("Number scalar1, Number scalar2", _result_type),
)
CAN_CAST = _parsed("can_cast", Signature("dtype from_, dtype to", _can_cast))
