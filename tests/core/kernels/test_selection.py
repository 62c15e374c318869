"""Selection and sorting do what their names say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gradcli.core.kernels import selection


@pytest.mark.parametrize("count", [1, 2, 3, 4, 16, 17, 64, 300])
def test_selection_and_sorting_do_what_their_names_say(count: int) -> None:
    draw = random.Random(count)
    values = [draw.randrange(10) for _ in range(count)]

    def less(i: int, j: int) -> bool:
        return values[i] < values[j]

    def greater(i: int, j: int) -> bool:
        return values[i] > values[j]

    wanted = sorted(values)
    order = list(range(count))
    selection.sort(order, 0, count, less)
    assert sorted(order) == list(range(count))
    assert [values[i] for i in order] == wanted
    k = count // 2
    for select in (lambda o: selection.nth_element(o, k, less), lambda o: selection.quickselect(o, k, greater)):
        order = list(range(count))
        select(order)
        assert sorted(order) == list(range(count))
        assert values[order[k]] == wanted[k]
    order = list(range(count))
    selection.partial_sort(order, 0, k, count, less)
    assert [values[i] for i in order[:k]] == wanted[:k]


@pytest.mark.parametrize("largest", [True, False])
def test_the_first_elements_of_many_are_those_of_few(monkeypatch: pytest.MonkeyPatch, largest: bool) -> None:
    drawn = np.random.default_rng(0)
    for rounded in (1, 6):
        x = np.round(drawn.standard_normal((40, 50)), rounded)
        x[drawn.random(x.shape) < 0.01] = np.nan
        for dim, k in ((0, 3), (1, 1), (1, 25)):
            monkeypatch.setattr(selection, "_MANY", 1 << 12)
            expected = selection.top(x, dim, k, largest, True)
            monkeypatch.setattr(selection, "_MANY", 1)
            np.testing.assert_array_equal(selection.top(x, dim, k, largest, True), expected)
