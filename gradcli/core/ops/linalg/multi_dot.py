"""Products of several matrices in the cheapest order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcli.core.functions.function import Sample
from gradcli.core.ops.linalg.common import LinalgFunction
from gradcli.core.ops.linalg.products import mm
from gradcli.core.ops.list_function import ListFunction
from gradcli.core.ops.shape.squeeze import UNSQUEEZE
from gradcli.core.ops.shape.views import VIEW
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def _error(text: str) -> ProgramError:
    return ProgramError("RuntimeError", text)


def chain(tensors: Sequence[Tensor]) -> Tensor:
    """`linalg.multi_dot`: the product of several matrices, in the cheapest order; vectors may stand at the ends."""
    if len(tensors) < 2:
        raise _error(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    ready = list(tensors)
    shape: list[int] = []
    if ready[0].array.ndim == 1:
        ready[0] = UNSQUEEZE(ready[0], 0)
    else:
        shape.append(ready[0].array.shape[0])
    if ready[-1].array.ndim == 1:
        ready[-1] = UNSQUEEZE(ready[-1], -1)
    else:
        shape.append(ready[-1].array.shape[1])
    for i, t in enumerate(ready):
        if t.array.ndim != 2:
            raise _error(f"multi_dot(): tensor {i} must be 2D but got {t.array.ndim}D")
        if i and ready[i - 1].array.shape[1] != t.array.shape[0]:
            raise _error(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].array.shape)} and {list(tensors[i].array.shape)} "
                "cannot be multiplied"
            )
    return VIEW(_chained(ready), tuple(shape))  # type: ignore[no-any-return]


def _chained(matrices: list[Tensor]) -> Tensor:
    sizes = [matrices[0].array.shape[0], *(m.array.shape[1] for m in matrices)]
    n = len(matrices)
    if n == 2:
        return mm(matrices[0], matrices[1])
    # dynamic programming over the split points: cost of multiplying matrices i .. j
    cost = [[0.0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], -k) for k in range(i, j)]
            cost[i][j], last = min(options)
            split[i][j] = -last

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        return mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    return product(0, n - 1)


def chain_matmul(tensors: Sequence[Tensor]) -> Tensor:
    """`chain_matmul`: deprecated name of multi_dot that takes one matrix too."""
    return tensors[0] if len(tensors) == 1 else chain(tensors)


_M: Any = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
_N: Any = [[0.5, -1.0], [2.0, 1.5]]
_V: Any = [1.0, -2.0]

FUNCTIONS = (
    ListFunction(
        "chain_matmul",
        ("Tensors matrices", chain_matmul),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("chain_matmul(x, y, y)", lambda x, y: x @ y @ y, x=_M, y=_N),),
        method=False,
        out=True,
    ),
    LinalgFunction(
        "multi_dot",
        ("Tensors tensors", chain),
        doc="The product of several matrices in the cheapest order.",
        samples=(Sample("torch.linalg.multi_dot([x, y, v])", lambda x, y, v: x @ y @ v, x=_M, y=_N, v=_V),),
    ),
)
