"""What recorded scripts cannot say of distributions: derivatives of samples, and what a start loads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gradcli.core.distributions import sampling
from gradcli.core.kernels.special import incomplete_gamma


@pytest.mark.parametrize(("shape", "x"), [(0.05, 1e-8), (0.4, 0.3), (1.0, 0.2), (2.5, 9.0), (30.0, 25.0), (1000.0, 1010.0)])
def test_the_derivative_of_a_gamma_number_keeps_its_rank(shape: float, x: float) -> None:
    def number(a: float) -> float:
        """The x with the same value of the distribution function, by bisection."""
        low, high = 0.0, 10 * x + 10
        for _ in range(200):
            middle = (low + high) / 2
            below = incomplete_gamma.lower(np.array(a), np.array(middle)) < incomplete_gamma.lower(np.array(shape), np.array(x))
            low, high = (middle, high) if below else (low, middle)
        return low

    step = 1e-4 * shape
    expected = (number(shape + step) - number(shape - step)) / (2 * step)
    found = float(sampling._gamma_by_shape(np.array(shape), np.array(x)))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("a", "b", "x"), [(1.0, 1.0, 0.3), (2.0, 1.0, 0.7), (5.0, 1.0, 0.05)])
def test_the_derivative_of_a_beta_number_agrees_with_the_closed_form(a: float, b: float, x: float) -> None:
    # with b = 1 the distribution function is x**a
    found = sampling._beta_by_shape(np.array(a), np.array(b), np.array(x))
    assert float(found) == pytest.approx(-x * np.log(x) / a, rel=1e-8)


def test_distributions_are_loaded_when_they_are_named() -> None:
    script = "import sys, gradcli.session, gradcli.core.vocabulary.library; print([m for m in sys.modules if 'core.distributions' in m])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"
