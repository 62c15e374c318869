"""torch.nn.utils.parametrizations: orthogonal matrices, weights of norm 1, and weights as direction and size."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import script_type
from gradcli.core.functions import catalog
from gradcli.core.nn.module import Module
from gradcli.core.nn.utils.parametrize import register_parametrization
from gradcli.core.nn.utils.power_iteration import PowerIteration
from gradcli.core.ops.reduce.norm_except_dim import norm_except_dim
from gradcli.core.ops.reduce.weight_norm import weight_norm as weight_of
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError, shape_error

_PLACE = "torch.nn.utils.parametrizations"
_MAPS = ("matrix_exp", "cayley", "householder")


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _method(name: str, tensor: Tensor, *args: Any) -> Any:
    return catalog.method(name).method(tensor, args, {})


class Orthogonal(Module):
    """Matrices with orthonormal rows or columns, from matrices of the same shape."""

    SCRIPT_NAME = "_Orthogonal"

    def __init__(self, shape: tuple[int, ...], kind: str, with_base: bool) -> None:
        super().__init__()
        self.shape = shape
        self.kind = kind
        self.with_base = with_base
        if with_base:
            self.own_buffers["base"] = None

    def forward(self, X: Any) -> Any:
        n, k = X.array.shape[-2:]
        wide = n < k
        if wide:
            X, n, k = _call("transpose", X, -2, -1), k, n
        made = self._reflected(X) if self.kind == "householder" else self._rotated(X, n, k)
        if self.with_base:
            made = _call("matmul", self.own_buffers["base"], made)
        return _call("transpose", made, -2, -1) if wide else made

    def _reflected(self, X: Any) -> Any:
        below = _call("tril", X, -1)
        tau = 2.0 / (1.0 + _method("sum", below * below, -2))
        signs = np.trunc(np.diagonal(X.array, axis1=-2, axis2=-1)).astype(np.int32)[..., None, :]
        return _call("linalg.householder_product", below, tau) * _call("tensor", signs.tolist())

    def _rotated(self, X: Any, n: int, k: int) -> Any:
        X = _call("tril", X)
        if n != k:
            rest = Tensor(np.zeros((*X.array.shape[:-1], n - k), X.array.dtype), X.dtype)
            X = _call("cat", [X, rest], -1)
        skew = X - _call("transpose", X, -2, -1)
        if self.kind == "matrix_exp":
            made = _call("matrix_exp", skew)
        else:
            identity = Tensor(np.eye(n, dtype=X.array.dtype), X.dtype)
            add = catalog.function("add")
            made = _call("linalg.solve", add(identity, skew, alpha=-0.5), add(identity, skew, alpha=0.5))
        return made if n == k else _call("narrow", made, -1, 0, k)

    def right_inverse(self, Q: Any) -> Any:
        """What an orthogonal matrix is computed from. ValueError for another shape, NotImplementedError without a base."""
        if tuple(Q.array.shape) != self.shape:
            wanted, have = (f"torch.Size({list(s)})" for s in (self.shape, Q.array.shape))
            raise shape_error(f"Expected a matrix or batch of matrices of shape {wanted}. Got a tensor of shape {have}.", "ValueError")
        with recording(False):
            return self._based(Q) if self.with_base else self._unbased(Q)

    def _unbased(self, Q: Tensor) -> Tensor:
        if self.kind != "householder":
            raise ProgramError(
                "NotImplementedError",
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False.",
            )
        wide = Q.array.shape[-2] < Q.array.shape[-1]
        made, tau = _call("geqrf", _call("transpose", Q, -2, -1) if wide else Q)
        n = range(made.array.shape[-1])
        signs = np.sign(made.array[..., n, n])
        made.array[..., n, n] = np.where(tau.array == 0, -signs, signs)
        return _call("transpose", made, -2, -1) if wide else made  # type: ignore[no-any-return]

    def _based(self, Q: Tensor) -> Tensor:
        """Keep an orthogonal matrix of full size as the base: it is the value at minus the identity."""
        shape, dtype = Q.array.shape, Q.array.dtype
        n, k = sorted(shape[-2:], reverse=True)
        tall = Q if shape[-2] == n else _call("transpose", Q, -2, -1)
        if n == k:
            self.own_buffers["base"] = _call("clone", Q) if _is_orthogonal(tall) else _made_orthogonal(tall)
        else:
            more = catalog.function("randn")(*shape[:-2], n, n - k, dtype=Q.dtype)
            self.own_buffers["base"] = _made_orthogonal(_call("cat", [tall, more], -1))
        made = np.zeros(shape, dtype)
        made[..., range(k), range(k)] = -1
        return Tensor(made, Q.dtype)


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.array.shape[-2:]
    eps = 10.0 * n * float(np.finfo(Q.array.dtype).eps)
    product = np.matmul(Q.array.swapaxes(-1, -2), Q.array)
    return bool(np.allclose(product, np.eye(k, dtype=Q.array.dtype), atol=eps))


def _made_orthogonal(A: Tensor) -> Tensor:
    X, tau = _call("geqrf", A)
    made = _call("linalg.householder_product", X, tau)
    signs = np.sign(np.diagonal(X.array, axis1=-2, axis2=-1))[..., None, :]
    return Tensor(made.array * signs, A.dtype)


class WeightNorm(Module):
    """A weight from the sizes of its slices and from a weight with their directions."""

    SCRIPT_NAME = "_WeightNorm"

    def __init__(self, dim: Any) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """The sizes, and the weight itself."""
        return norm_except_dim(weight, 2, self.dim), weight


class SpectralNorm(Module):
    """A weight over its largest singular value, which steps of the power method in training mode approximate."""

    SCRIPT_NAME = "_SpectralNorm"

    def __init__(self, weight: Tensor, n_power_iterations: Any, dim: Any, eps: Any) -> None:
        super().__init__()
        rank = weight.array.ndim
        if not -rank <= dim < rank:
            raise ProgramError(
                "IndexError", f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {formatted(dim)})"
            )
        if n_power_iterations <= 0:
            raise ProgramError(
                "ValueError", f"Expected n_power_iterations to be positive, but got n_power_iterations={formatted(n_power_iterations)}"
            )
        self.dim, self.eps, self.steps = dim % rank, eps, n_power_iterations
        if rank > 1:
            iteration = PowerIteration(self.dim, eps)
            matrix = iteration.matrix(weight)
            self.own_buffers["_u"], self.own_buffers["_v"] = iteration.start(matrix)
            self._advance(iteration, matrix, 15)

    def _advance(self, iteration: PowerIteration, matrix: Any, steps: int) -> None:
        u, v = self.own_buffers["_u"], self.own_buffers["_v"]
        assert u is not None and v is not None
        for _ in range(steps):
            iteration.update(u, matrix, v)
            iteration.update(v, _call("transpose", matrix, 0, 1), u)

    def forward(self, weight: Any) -> Any:
        iteration = PowerIteration(self.dim, self.eps)
        if weight.array.ndim == 1:
            return catalog.function("nn.functional.normalize")(weight, dim=0, eps=self.eps)
        matrix = iteration.matrix(weight)
        if self.training:
            self._advance(iteration, detach(matrix), self.steps)
        u, v = (_call("clone", self.own_buffers[name]) for name in ("_u", "_v"))
        return weight / _call("vdot", u, _call("mv", matrix, v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself: assigning it leaves the singular value to be divided out."""
        return value


for _made in (Orthogonal, WeightNorm, SpectralNorm):
    script_type(_made, _PLACE)


# --- what programs call ---


def _tensor(module: Any, name: Any) -> Tensor:
    found = module.attribute(name, None) if isinstance(module, Module) and isinstance(name, str) else None
    if type(found) is not Tensor:
        raise ProgramError("ValueError", f"Module '{shown(module)}' has no parameter or buffer with name '{formatted(name)}'")
    return found


@Routine
def orthogonal(module: Any, name: Any = "weight", orthogonal_map: Any = None, *, use_trivialization: Any = True) -> Any:
    """Make a weight of a module a matrix with orthonormal rows or columns. ValueError for what is no matrix."""
    weight = _tensor(module, name)
    if weight.array.ndim < 2:
        raise ProgramError("ValueError", f"Expected a matrix or batch of matrices. Got a tensor of {weight.array.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.array.shape[-2] == weight.array.shape[-1] else "householder"
    if orthogonal_map not in _MAPS:
        text = 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
        raise ProgramError("ValueError", f"{text}{formatted(orthogonal_map)}")
    made = Orthogonal(tuple(weight.array.shape), orthogonal_map, bool(use_trivialization))
    return register_parametrization(module, name, made, unsafe=True)


@Routine
def weight_norm(module: Any, name: Any = "weight", dim: Any = 0) -> Any:
    """Learn a weight of a module as the sizes of its slices along a dimension and their directions."""
    return register_parametrization(module, name, WeightNorm(dim), unsafe=True)


@Routine
def spectral_norm(module: Any, name: Any = "weight", n_power_iterations: Any = 1, eps: Any = 1e-12, dim: Any = None) -> Any:
    """Divide a weight of a module by its largest singular value."""
    weight = _tensor(module, name)
    made = SpectralNorm(weight, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, made)


def default_dim(module: Module) -> int:
    """The dimension that stands for the outputs of a module."""
    return 1 if "ConvTranspose" in module.SCRIPT_TYPE.name else 0
