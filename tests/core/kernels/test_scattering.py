"""Values added at repeated positions are those of numpy, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcli.core.kernels.scattering import add_at

DRAWN = np.random.default_rng(0)


def _index(size: int, *shape: int) -> Any:
    return DRAWN.integers(-size, size, shape)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, np.bool_])
@pytest.mark.parametrize(
    ("places", "shape"),
    [
        (_index(5, 900), (900, 6, 7)),
        ((_index(5, 900),), (7,)),
        ((slice(None), _index(6, 900)), (5, 900, 7)),
        ((slice(None), slice(None), _index(7, 900)), (5, 1, 900)),
        ((_index(5, 40, 50), _index(6, 50), _index(7, 40, 1)), (40, 50)),
        ((np.asfortranarray(_index(5, 40, 50)), _index(6, 50), _index(7, 40, 1)), (40, 50)),
        ((_index(5, 900), slice(1, 4)), (900, 3, 7)),
        (_index(5, 30, 20), (30, 20, 6, 7)),
    ],
)
def test_sums_at_repeated_positions(places: Any, shape: tuple[int, ...], dtype: Any) -> None:
    start = DRAWN.standard_normal((5, 6, 7)).astype(dtype)
    values = (DRAWN.standard_normal(shape) * 1000).astype(dtype)
    found, expected = start.copy(), start.copy()
    add_at(found, places, values)
    np.add.at(expected, places, values)
    assert found.tobytes() == expected.tobytes()


def test_a_position_out_of_range() -> None:
    with pytest.raises(IndexError):
        add_at(np.zeros(3), np.full(5000, 3), np.ones(5000))
