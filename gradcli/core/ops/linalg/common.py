"""What the functions of `torch.linalg` share: checks of their matrices, and names in their argument errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli import limits
from gradcli.core.calling.overloads import Parser
from gradcli.core.functions.function import Function, Overload
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


def check_floats(name: str, A: Tensor, low: bool = False) -> None:
    if not A.dtype.is_floating_point:
        raise runtime_error(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.torch_name}")
    if not low and A.dtype in (dtypes.float16, dtypes.bfloat16):
        raise runtime_error(f"{name}: Low precision dtypes not supported. Got {A.dtype.torch_name}")


def check_matrices(name: str, A: Tensor, symbol: str = "A") -> None:
    if A.array.ndim < 2:
        raise runtime_error(f"{name}: The input tensor {symbol} must have at least 2 dimensions.")
    rows, columns = A.array.shape[-2:]
    limits.check_work(20.0 * A.array.size * min(rows, columns))
    # what the greediest, a singular value decomposition, takes for its factors and to work in
    limits.check_room(10.0 * A.array.nbytes)


def check_squares(name: str, A: Tensor) -> None:
    check_matrices(name, A)
    n, m = A.array.shape[-2:]
    if n != m:
        raise runtime_error(f"{name}: A must be batches of square matrices, but they are {n} by {m} matrices")


def check_square_floats(name: str, A: Tensor) -> None:
    check_squares(name, A)
    check_floats(name, A)


class LinalgFunction(Function):
    """A function of torch.linalg: its argument errors call it `linalg_NAME`."""

    __slots__ = ()

    def __init__(self, name: str, *overloads: Overload, aliases: Sequence[str] = (), **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.linalg", method=False, aliases=aliases, **more)

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(f"linalg_{self.name}", self._signatures())
        return self._parser
