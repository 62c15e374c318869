"""The exponential of matrices by Taylor polynomials that need few products (P. Bader, S. Blanes, F. Casas, 2019), as PyTorch has it.

A matrix of small norm takes a polynomial of low degree. Others are divided by a power of 2, take the one of degree 18, and are squared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gradcli.core.kernels import Array, products

#: the 1-norms up to which the degrees 1, 2, 4, 8, 12 and 18 are as accurate as the dtype
_BOUNDS = {
    "f": (1.192092800768788e-07, 5.978858893805233e-04, 5.116619363445086e-02, 5.800524627688768e-01, 1.461661507209034, 3.010066362817634),
    "d": (2.220446049250313e-16, 2.580956802971767e-08, 3.397168839976962e-04, 4.991228871115323e-02, 0.299615891381158, 1.090863719290036),
}
_DEGREE_12 = (
    (9.0198e-16, 0.46932117595418237389, -0.20099424927047284052, -0.04623946134063071740),
    (5.31597895759871264183, 1.19926790417132231573, 0.01179296240992997031, 0.01108844528519167989),
    (0.18188869982170434744, 0.05502798439925399070, 0.09351590770535414968, 0.00610700528898058230),
    (-2.0861320e-13, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359),
)
_DEGREE_18 = (
    (0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0),
    (0.0, 3.97849749499645077844e-01, 1.36783778460411720168, 4.98289622525382669416e-01, -6.37898194594723280150e-04),
    (
        -1.09676396052962061844e01,
        1.68015813878906206114,
        5.71779846478865511061e-02,
        -6.98210122488052056106e-03,
        3.34975017086070470649e-05,
    ),
    (
        -9.04316832390810593223e-02,
        -6.76404519071381882256e-02,
        6.75961301770459654925e-02,
        2.95552570429315521194e-02,
        -1.39180257516060693404e-05,
    ),
    (0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)


def _combined(matrices: Sequence[Array], factors: Sequence[float]) -> Array:
    """The linear combination, added up from 0."""
    made = np.zeros_like(matrices[0])
    for matrix, factor in zip(matrices, factors, strict=True):
        made = made + matrix * matrix.real.dtype.type(factor)
    return made


def _powers(a: Array, count: int) -> list[Array]:
    """The powers of the matrices from 0 on."""
    found = [np.array(np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)), a]
    while len(found) < count:
        found.append(products.matmul(a, found[-1]))
    return found


def _degree_1(a: Array) -> Array:
    return _powers(a, 2)[0] + a


def _degree_2(a: Array) -> Array:
    one, _, square = _powers(a, 3)
    return np.asarray(one + a + square / a.real.dtype.type(2))


def _degree_4(a: Array) -> Array:
    found = _powers(a, 3)
    return _combined([*found, products.matmul(found[2], _combined(found, (1 / 2, 1 / 6, 1 / 24)))], (1, 1, 0, 1))


def _degree_8(a: Array) -> Array:
    kind = a.real.dtype.type  # PyTorch's constants have the dtype
    root, third = float(kind(0.1330413469565007072504e2)), float(kind(2.0 / 3))
    inner = [third * ((1 + root) / divisor) for divisor in (88, 352)]
    outer = [
        (-271 + 29 * root) / (315 * third),
        (-11 + 11 * root) / (1260 * third),
        (-99 + 11 * root) / (5040 * third),
        (89 - root) / (5040 * third),
    ]
    found = _powers(a, 3)
    found.append(products.matmul(found[2], _combined(found[1:3], inner)))
    found.append(products.matmul(_combined(found[2:4], (third, 1)), _combined(found[:4], outer)))
    return _combined(found, (1, 1, (857 - 58 * root) / 630, 0, 1))


def _degree_12(a: Array) -> Array:
    found = _powers(a, 4)
    first, second, third, fourth = (_combined(found, factors) for factors in _DEGREE_12)
    third = third + products.matmul(fourth, fourth)
    return np.asarray(first + products.matmul(second + third, third))


def _degree_18(a: Array) -> Array:
    found = _powers(a, 4)
    found.append(products.matmul(found[3], found[3]))
    first, second, third, fourth, fifth = (_combined(found, factors) for factors in _DEGREE_18)
    fourth = fourth + products.matmul(first, fifth)
    return np.asarray(second + products.matmul(third + fourth, fourth))


_POLYNOMIALS: tuple[Callable[[Array], Array], ...] = (_degree_1, _degree_2, _degree_4, _degree_8, _degree_12)


def exponential(a: Array) -> Array:
    """The exponential of each matrix, shape (count, n, n); nan for those that are not finite."""
    norms = np.abs(a).sum(-2).max(-1)
    bounds = _BOUNDS[a.real.dtype.char]
    # PyTorch leaves a single matrix with nan out, and computes with those of a batch
    alone = len(a) == 1 and np.isnan(norms).any()
    made = np.full(a.shape, np.nan if alone or a.dtype.kind != "c" else complex(np.nan, np.nan), a.dtype)
    finite = np.isfinite(norms)
    # all matrices of a batch take the highest degree
    degrees = np.searchsorted(bounds[:-1], norms) if len(a) == 1 else np.full(len(a), len(_POLYNOMIALS))
    halvings = np.where(finite & (degrees == len(_POLYNOMIALS)), np.ceil(np.log2(np.maximum(norms, 1) / norms.dtype.type(bounds[-1]))), 0)
    halvings = np.maximum(halvings, 0).astype(int)
    for degree, count in set(zip(degrees[finite].tolist(), halvings[finite].tolist(), strict=True)):
        chosen = finite & (degrees == degree) & (halvings == count)
        part = a[chosen]
        if degree < len(_POLYNOMIALS):
            made[chosen] = _POLYNOMIALS[degree](part)
            continue
        part = _degree_18(part / norms.dtype.type(2) ** norms.dtype.type(count))
        for _ in range(count):
            part = products.matmul(part, part)
        made[chosen] = part
    return made
