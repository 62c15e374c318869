"""Where a view's elements are in its base: gathered, scattered, and the elements outside of it."""

from __future__ import annotations

import numpy as np

from gradcli.core.graph import strided


def test_a_view_finds_its_elements_in_any_layout_of_its_base() -> None:
    memory = np.arange(60.0)
    for base in (memory[:24].reshape(2, 3, 4), memory.reshape(3, 4, 5).transpose(2, 0, 1), memory[::2][:12].reshape(3, 4)):
        for view in (base[1:], base[..., 1], base.swapaxes(0, -1), base[:, ::2]):
            where, whole = strided.geometry(view, base), strided.geometry(base, base)
            np.testing.assert_array_equal(strided.gather(base.copy(), where, whole), view)
            back = strided.scatter(np.ones(view.shape), where, whole)
            outside = strided.outside(where, whole)
            assert back.sum() == view.size
            np.testing.assert_array_equal(back == 0, outside)


def test_overlapping_windows_add_up() -> None:
    base = np.arange(4.0)
    windows = np.lib.stride_tricks.sliding_window_view(base, 2)
    back = strided.scatter(np.ones(windows.shape), strided.geometry(windows, base), strided.geometry(base, base))
    np.testing.assert_array_equal(back, [1.0, 2.0, 2.0, 1.0])
