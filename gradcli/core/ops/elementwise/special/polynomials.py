"""Orthogonal polynomials; every element may have its own degree n. They have no derivatives, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import Out
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.kernels import Array
from gradcli.core.kernels.special import orthogonal_polynomials as polynomials
from gradcli.core.ops.checks import checked, refuse_half
from gradcli.core.ops.elementwise.special.special_function import SpecialFunction


def _function(name: str, compute: polynomials.Forward, doc: str) -> Function:
    def forward(x: Any, n: Any) -> Array:
        return compute(np.asarray(x), np.asarray(n))

    run = checked(Pointwise(name, forward, "x n", kind="float", x=None, n=None), refuse_half, f"{name}_cpu")
    return SpecialFunction(
        name,
        ("Tensor x, Tensor n", run),
        ("Number x, Tensor n", run),
        ("Tensor x, Number n", run),
        out=Out(autograd="none"),
        overlap="partial",
        doc=doc,
        samples=(Sample(f"torch.special.{name}(tensor([0.25, 2.]), 3)"), Sample(f"torch.special.{name}(0.25, tensor([0, 1, 9]))")),
    )


#: the degree from which PyTorch uses the trigonometric form: of the plain and of the shifted polynomial
_BEYOND = {"t": (6, 6), "u": (8, 6), "v": (8, 6), "w": (8, 4)}
_KINDS = {"t": "first", "u": "second", "v": "third", "w": "fourth"}

FUNCTIONS = (
    *(
        _function(
            f"{'shifted_' if shifted else ''}chebyshev_polynomial_{letter}",
            polynomials.chebyshev(letter, _BEYOND[letter][shifted], shifted),
            f"Chebyshev's polynomial of the {kind} kind of degree n{', of 2 * x - 1' if shifted else ''}.",
        )
        for shifted in (False, True)
        for letter, kind in _KINDS.items()
    ),
    _function("hermite_polynomial_h", polynomials.hermite_h, "Hermite's polynomial of degree n, as physicists have it."),
    _function("hermite_polynomial_he", polynomials.hermite_he, "Hermite's polynomial of degree n, as statisticians have it."),
    _function("laguerre_polynomial_l", polynomials.laguerre, "Laguerre's polynomial of degree n."),
    _function("legendre_polynomial_p", polynomials.legendre, "Legendre's polynomial of degree n."),
)
