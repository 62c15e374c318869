"""Products of numpy's arrays, `np.linalg`, and polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.arrays.conversion import ARRAY_COPY, operand
from gradcli.lang.arrays.parameters import Declared, moderate, sizes
from gradcli.lang.arrays.running import check_size, check_work, run, type_error
from gradcli.lang.arrays.values import wrap
from gradcli.lang.python.object_protocol import Value

Check = Callable[[Mapping[str, Any]], None]
Rows = tuple[tuple[str, Callable[..., Any], str, Check], ...]


def _pair(converted: Mapping[str, Any]) -> tuple[Any, Any]:
    first, second, *_ = converted.values()
    return np.asarray(first), np.asarray(second)


def _product(converted: Mapping[str, Any]) -> None:
    """The check of `dot`: every row of the first with every column of the second."""
    a, b = _pair(converted)
    if a.ndim == 0 or b.ndim == 0:
        check_size(a.size * b.size)
        return
    inner = max(1, a.shape[-1])
    rows, columns = a.size // inner, b.size // max(1, b.shape[-2] if b.ndim > 1 else b.shape[0])
    check_size(rows * columns)
    check_work(rows * columns * inner)


def _outer(converted: Mapping[str, Any]) -> None:
    a, b = _pair(converted)
    check_size(a.size * b.size)


def _tensordot(converted: Mapping[str, Any]) -> None:
    a, b = _pair(converted)
    axes = converted.get("axes", 2)
    count = axes if isinstance(axes, int) else np.size(axes) // 2
    inner = math.prod(sorted(a.shape)[:count])  # the smallest axes: an upper bound of the result
    check_size(a.size * b.size // max(1, inner) ** 2)
    check_work(a.size * b.size)


def _convolution(converted: Mapping[str, Any]) -> None:
    a, b = _pair(converted)
    check_size(a.size + b.size)
    check_work(a.size * b.size)


def _matrix(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["a"])
    longest = max(array.shape[-2:], default=1)
    check_size(4 * array.size + longest * longest * math.prod(array.shape[:-2]))
    check_work(30 * array.size * longest)


def _system(converted: Mapping[str, Any]) -> None:
    _matrix(converted)
    check_size(np.size(converted["b"]))
    check_work(np.size(converted["b"]) * np.shape(converted["a"])[-1] if np.ndim(converted["a"]) else 0)


def _power(converted: Mapping[str, Any]) -> None:
    _matrix(converted)
    check_work(np.size(converted["a"]) * np.shape(converted["a"])[-1] * 2 * max(1, abs(converted["n"]).bit_length()))


def _norm(converted: Mapping[str, Any]) -> None:
    array = np.asarray(converted["x"])
    check_size(sizes(converted))
    check_work(30 * array.size * max(array.shape[-2:], default=1))


def _fit(converted: Mapping[str, Any]) -> None:
    count = converted["deg"] + 1
    check_size(np.size(converted["x"]) * max(1, count))
    check_work(30 * np.size(converted["x"]) * max(1, count) ** 2)


def _values_of(converted: Mapping[str, Any]) -> None:
    check_size(sizes(converted))
    check_work(np.size(converted["p"]) * np.size(converted["x"]))


def _roots(converted: Mapping[str, Any]) -> None:
    check_size(np.size(converted["p"]) ** 2)
    check_work(30 * np.size(converted["p"]) ** 3)


def _derivative(p: Any, m: int = 1) -> Any:
    # numpy calls itself m times, and after the length of p nothing is left
    return np.polyder(p, min(m, np.size(p) + 1))


def _real(array: Any) -> Any:
    """The real parts, if these are all there is: from numpy 2.5 on eigenvalues of real matrices are complex in any case."""
    return array if array.dtype.kind != "c" or array.imag.any() else array.real.copy()


def _eig(a: Any) -> Any:
    found = np.linalg.eig(a)
    values = _real(found.eigenvalues)
    return found if values is found.eigenvalues else found._replace(eigenvalues=values, eigenvectors=found.eigenvectors.real.copy())


_PRODUCTS: Rows = (
    ("dot", np.dot, "array a, array b, target out=", _product),
    ("vdot", np.vdot, "array a, array b", moderate),
    ("inner", np.inner, "array a, array b", _outer),
    ("outer", np.outer, "array a, array b, target out=", _outer),
    ("kron", np.kron, "array a, array b", _outer),
    ("cross", np.cross, "array a, array b, int axisa=, int axisb=, int axisc=, int axis=", moderate),
    ("tensordot", np.tensordot, "array a, array b, axes axes=", _tensordot),
    ("trace", np.trace, "array a, int offset=, int axis1=, int axis2=, dtype dtype=", moderate),
    ("convolve", np.convolve, "array a, array v, str mode=", _convolution),
    ("correlate", np.correlate, "array a, array v, str mode=", _convolution),
    ("polyfit", np.polyfit, "array x, array y, int deg", _fit),
    ("polyval", np.polyval, "array p, array x", _values_of),
    ("polyadd", np.polyadd, "array a1, array a2", moderate),
    ("polymul", np.polymul, "array a1, array a2", _convolution),
    ("polyder", _derivative, "array p, int m=", _roots),
    ("roots", np.roots, "array p", _roots),
)
_LINALG: Rows = (
    ("cholesky", np.linalg.cholesky, "array a", _matrix),
    ("cond", np.linalg.cond, "array a, number p=", lambda given: _norm({"x": given["a"]})),
    ("det", np.linalg.det, "array a", _matrix),
    ("eig", _eig, "array a", _matrix),
    ("eigh", np.linalg.eigh, "array a, str UPLO=", _matrix),
    ("eigvals", lambda a: _real(np.linalg.eigvals(a)), "array a", _matrix),
    ("eigvalsh", np.linalg.eigvalsh, "array a, str UPLO=", _matrix),
    ("inv", np.linalg.inv, "array a", _matrix),
    ("lstsq", np.linalg.lstsq, "array a, array b, number rcond=", _system),
    ("matrix_norm", np.linalg.matrix_norm, "array x, *, bool keepdims=, order ord=", _norm),
    ("matrix_power", np.linalg.matrix_power, "array a, int n", _power),
    ("matrix_rank", np.linalg.matrix_rank, "array a, number tol=", lambda given: _matrix({"a": given["a"]})),
    ("norm", np.linalg.norm, "array x, order ord=, axis axis=, bool keepdims=", _norm),
    ("pinv", np.linalg.pinv, "array a, number rcond=", _matrix),
    ("qr", np.linalg.qr, "array a, str mode=", _matrix),
    ("slogdet", np.linalg.slogdet, "array a", _matrix),
    ("solve", np.linalg.solve, "array a, array b", _system),
    ("svd", np.linalg.svd, "array a, bool full_matrices=, bool compute_uv=", _matrix),
    ("vector_norm", np.linalg.vector_norm, "array x, *, axis axis=, bool keepdims=, order ord=", _norm),
)


def _einsum(subscripts: Value, *args: Value) -> Value:
    """`np.einsum("ij,jk->ik", a, b)`. Raises TypeError unless the subscripts are a string."""
    if type(subscripts) is not str:
        raise type_error("np.einsum() takes its subscripts as a string here")
    operands = [np.asarray(operand(value)) for value in args]
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    parts = inputs.split(",")
    lengths: dict[str, int] = {}
    extra = 1
    for part, array in zip(parts, operands, strict=False):
        letters = part.replace("...", "")
        if "..." in part:
            extra = max(extra, array.size)
        for letter, n in zip(letters, array.shape, strict=False):
            lengths[letter] = max(n, lengths.get(letter, 1))
    if not arrow:
        plain = inputs.replace(",", "").replace(".", "")
        output = "".join(sorted(letter for letter in set(plain) if plain.count(letter) == 1))
    check_size(extra * math.prod(lengths.get(letter, 1) for letter in output.replace("...", "")))
    check_work(extra * math.prod(lengths.values()) * max(1, len(operands)))
    return wrap(run(np.einsum, subscripts, *operands))


class _Direct(Declared):
    """A function that asks a tensor for its array directly, about which numpy warns."""

    __slots__ = ()

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        if Tensor in map(type, args):
            warnings.emit(ARRAY_COPY, "DeprecationWarning")
        return super().__call__(*args, **kwargs)


_DIRECT = ("dot", "inner", "vdot")

FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: (_Direct if name in _DIRECT else Declared)(name, function, text, check) for name, function, text, check in _PRODUCTS},
    "einsum": _einsum,
}
#: `np.linalg`
LINALG: dict[str, Callable[..., Value]] = {name: Declared(name, function, text, check) for name, function, text, check in _LINALG}
