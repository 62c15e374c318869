"""Which of equal elements sort, topk and kthvalue return: indices as PyTorch 2.13's CPU kernels gave them."""

from __future__ import annotations

import numpy as np
import pytest

from gradcli.core.functions import catalog
from gradcli.core.tensor.tensor import Tensor, wrap

ROW = [0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0]


def row(*values: float) -> Tensor:
    return wrap(np.array(values, np.float32))


def zeros(count: int) -> Tensor:
    return wrap(np.zeros(count, np.float32))


def indices(name: str, *args: object, **kwargs: object) -> list[int]:
    return catalog.function(name)(*args, **kwargs)[1].tolist()  # type: ignore[no-any-return]


def test_sort_of_up_to_16_elements_is_stable() -> None:
    assert indices("sort", row(*ROW[:16])) == [0, 1, 3, 4, 5, 12, 15, 2, 6, 7, 8, 9, 10, 11, 13, 14]


def test_sort_of_more_elements_is_not() -> None:
    assert indices("sort", row(*ROW)) == [1, 16, 15, 12, 5, 4, 3, 0, 6, 7, 8, 9, 10, 11, 13, 14, 2]


def test_sort_is_stable_on_request() -> None:
    assert indices("sort", row(*ROW), stable=True) == [0, 1, 3, 4, 5, 12, 15, 16, 2, 6, 7, 8, 9, 10, 11, 13, 14]


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (2, [0, 1]),
        (4, [2, 3, 0, 1]),
        (5, [2, 4, 3, 0, 1]),
        (7, [3, 6, 5, 4, 0, 2, 1]),
        (12, [6, 11, 10, 9, 8, 7, 3, 1, 2, 0, 4, 5]),
    ],
)
def test_topk_of_equal_elements(count: int, wanted: list[int]) -> None:
    assert indices("topk", zeros(count), count) == wanted


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(3, [1, 0, 2]), (5, [3, 2, 0, 1, 4]), (8, [3, 5, 6, 0, 4, 2, 1, 7]), (12, [9, 10, 7, 5, 8, 0, 6, 2, 3, 1, 4, 11])],
)
def test_kthvalue_of_equal_elements(count: int, wanted: list[int]) -> None:
    assert [catalog.function("kthvalue")(zeros(count), k)[1].item() for k in range(1, count + 1)] == wanted
