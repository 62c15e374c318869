"""erf, erfc and erfinv against the standard library."""

from __future__ import annotations

import math

import numpy as np

from gradcli.core.kernels.special import erf


def test_erf_in_double_precision() -> None:
    x = np.concatenate([np.linspace(-6, 6, 2001), [1e-300, -1e-10, 0.999999, 1.0]])
    np.testing.assert_allclose(erf.erf(x), [math.erf(v) for v in x], rtol=1e-15)


def test_erf_in_single_precision() -> None:
    x = np.linspace(-5, 5, 2001).astype(np.float32)
    np.testing.assert_allclose(erf.erf(x), [math.erf(float(v)) for v in x], rtol=3e-7)


def test_erfc_is_accurate_far_out() -> None:
    x = np.linspace(-6, 26, 2001)
    np.testing.assert_allclose(erf.erfc(x), [math.erfc(v) for v in x], rtol=2e-15)


def test_erfinv_inverts_erf() -> None:
    y = np.linspace(-0.999, 0.999, 1001)
    np.testing.assert_allclose([math.erf(v) for v in erf.erfinv(y)], y, rtol=1e-14, atol=1e-15)


def test_ends_and_nan() -> None:
    with np.errstate(all="ignore"):
        assert erf.erf(np.array([math.inf, -math.inf])).tolist() == [1, -1]
        assert erf.erfc(np.array([math.inf, -math.inf])).tolist() == [0, 2]
        assert erf.erfinv(np.array([1.0, -1.0])).tolist() == [math.inf, -math.inf]
        assert np.isnan(erf.erf(np.array([math.nan]))).all()
        assert np.isnan(erf.erfinv(np.array([1.5, math.nan]))).all()
