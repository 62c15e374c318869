"""`torch.distributions.constraints`: what values parameters and samples may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted
from gradcli.core.graph.record import broadcast_error
from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

#: says of each event in an array whether it is allowed
Check = Callable[[Array], Any]


def elements(value: Tensor) -> Array:
    """The array of a tensor; of one that vmap has batched that of all samples, the batch in front."""
    array: Any = value.array
    if value.batch is None:
        return np.asarray(array)
    found = elements(array.value)
    return found if array.dim is None else np.moveaxis(found, found.ndim - array.value.array.ndim + array.dim, 0)


class Constraint(Scripted):
    """A set of values, of events with `event_dim` dimensions. `valid(array)` has a bool for each event."""

    SCRIPT_NAME = "Constraint"
    SCRIPT_ATTRIBUTES = Attributes.read("is_discrete event_dim")

    def __init__(self, text: str, valid: Check, event_dim: int = 0, is_discrete: bool = False, **bounds: Any) -> None:
        self.text = text
        #: values that the repr shows between its parentheses
        self.bounds = bounds
        self.valid = valid
        self.event_dim = event_dim
        self.is_discrete = is_discrete
        #: the set that has each element of an event, where that is all there is to say
        self.base: Constraint | None = None
        #: the sets of parts along a dimension, that dimension, and of `cat` their lengths
        self.parts: tuple[Any, ...] = ()

    def holds(self, value: Tensor) -> bool:
        """Whether all events of a tensor are in the set, of a batched one those of all samples."""
        return bool(np.all(self.valid(elements(value))))

    def check(self, value: Any) -> Tensor:
        """Whether each event of a tensor is in the set."""
        return Tensor(np.asarray(self.valid(np.asarray(value.array))), dtypes.bool_)

    def __repr__(self) -> str:
        if not self.bounds:
            return self.text
        return f"{self.text}({', '.join(f'{side}={formatted(value)}' for side, value in self.bounds.items())})"

    SCRIPT_METHODS = {"check": Routine(check, "Constraint.check")}


def _bound(value: Any) -> Any:
    if type(value) is not Tensor:
        return value
    found = elements(value)
    # a bound that vmap has batched has dimensions that the value may not have
    return found if found.ndim == value.array.ndim else np.asarray(value.array)


def _ordered(name: str, discrete: bool = False, **bounds: Any) -> Constraint:
    """Numbers between bounds that are named as PyTorch names them: `lower_bound`, `upper_bound`; `None` is no bound.

    A name that begins with Greater or Less but does not end with Eq leaves the bound out; HalfOpen leaves the upper one out.
    """
    low, high = (_bound(bounds.get(side)) for side in ("lower_bound", "upper_bound"))
    open_low, open_high = name == "GreaterThan", name in ("LessThan", "HalfOpenInterval")

    def valid(x: Array) -> Any:
        found: Any = x % 1 == 0 if discrete else x == x
        try:
            if low is not None:
                found = found & (low < x if open_low else low <= x)
            if high is not None:
                found = found & (x < high if open_high else x <= high)
        except ValueError:
            shapes = np.shape(low), np.shape(x), np.shape(high)
            raise broadcast_error(*(shapes[:2] if shapes[0] else shapes[1:])) from None
        return found

    return Constraint(name, valid, 0, discrete, **bounds)


@Routine
def greater_than(lower_bound: Any) -> Constraint:
    """Numbers above a bound."""
    return _ordered("GreaterThan", lower_bound=lower_bound)


@Routine
def greater_than_eq(lower_bound: Any) -> Constraint:
    """Numbers from a bound on."""
    return _ordered("GreaterThanEq", lower_bound=lower_bound)


@Routine
def less_than(upper_bound: Any) -> Constraint:
    """Numbers below a bound."""
    return _ordered("LessThan", upper_bound=upper_bound)


@Routine
def interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers from one bound to another."""
    return _ordered("Interval", lower_bound=lower_bound, upper_bound=upper_bound)


@Routine
def half_open_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Numbers from one bound up to, without, another."""
    return _ordered("HalfOpenInterval", lower_bound=lower_bound, upper_bound=upper_bound)


@Routine
def integer_interval(lower_bound: Any, upper_bound: Any) -> Constraint:
    """Whole numbers from one bound to another."""
    return _ordered("IntegerInterval", True, lower_bound=lower_bound, upper_bound=upper_bound)


def _matrix_is_lower(x: Array) -> Any:
    return (np.tril(x) == x).all((-2, -1))


def _correlation_root(x: Array) -> Any:
    error = np.abs((x.astype(np.float64) ** 2).sum(-1) - 1)
    unit = (error <= np.finfo(x.dtype).eps * x.shape[-1] * 10).all(-1)
    return unit & _matrix_is_lower(x) & (np.diagonal(x, axis1=-2, axis2=-1) > 0).all(-1)


def _symmetric(x: Array) -> Any:
    return np.isclose(x, x.swapaxes(-1, -2), atol=1e-6).all((-2, -1))


def _with_eigenvalues(allowed: Check) -> Check:
    """Whether matrices are symmetric with eigenvalues that are all allowed."""

    def valid(x: Array) -> Any:
        square = x.shape[-1] == x.shape[-2]
        return _symmetric(x) & allowed(np.linalg.eigvalsh(x)).all(-1) if square else np.zeros(x.shape[:-2], bool)

    return valid


def _simplex(x: Array) -> Any:
    return (x >= 0).all(-1) & (np.abs(x.sum(-1) - 1) < 1e-6)


def _one_hot(x: Array) -> Any:
    return ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1)


@Routine
def multinomial(upper_bound: Any) -> Constraint:
    """Counts that sum to `upper_bound` at most."""
    most = _bound(upper_bound)
    return Constraint("Multinomial()", lambda x: (x >= 0).all(-1) & (x.sum(-1) <= most), 1, True)


@Routine
def independent(base: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """Events of more dimensions, each element of which is in the base set."""
    count = reinterpreted_batch_ndims

    def valid(x: Array) -> Any:
        found = np.asarray(base.valid(x))
        if found.ndim < count:
            raise ProgramError("ValueError", f"Expected value.dim() >= {base.event_dim + count} but got {x.ndim}")
        return found.reshape(*found.shape[: found.ndim - count], -1).all(-1) if count else found

    made = Constraint(f"IndependentConstraint({base!r}, {count})", valid, base.event_dim + count, base.is_discrete)
    made.base = base
    return made


def _sets(cseq: Any) -> list[Constraint]:
    if not all(isinstance(one, Constraint) for one in cseq):
        raise ProgramError("AssertionError", "All elements of cseq must be Constraint instances")
    return list(cseq)


def _check_dimension(x: Array, dim: int) -> None:
    if not -x.ndim <= dim < x.ndim:
        raise ProgramError("AssertionError", f"dim {dim} out of range for value with {x.ndim} dimensions")


@Routine
def cat(cseq: Any, dim: int = 0, lengths: Any = None) -> Constraint:
    """Values whose parts along a dimension, of these lengths, are each in a set of their own."""
    sets = _sets(cseq)
    sizes = [1] * len(sets) if lengths is None else list(lengths)
    if len(sizes) != len(sets):
        raise ProgramError("AssertionError", f"lengths ({len(sizes)}) must match cseq ({len(sets)})")

    def valid(x: Array) -> Any:
        _check_dimension(x, dim)
        parts = np.split(x, np.cumsum(sizes), dim)[:-1]
        return np.concatenate([np.asarray(one.valid(part)) for one, part in zip(sets, parts, strict=True)], dim)

    made = Constraint("Cat()", valid, max(one.event_dim for one in sets), any(one.is_discrete for one in sets))
    made.parts = sets, dim, sizes
    return made


@Routine
def stack(cseq: Any, dim: int = 0) -> Constraint:
    """Values whose part at each index of a dimension is in a set of its own."""
    sets = _sets(cseq)

    def valid(x: Array) -> Any:
        _check_dimension(x, dim)
        parts = np.moveaxis(x, dim, 0)
        return np.stack([np.asarray(one.valid(part)) for one, part in zip(sets, parts, strict=False)], dim)

    events = max(one.event_dim for one in sets)
    made = Constraint("Stack()", valid, events + 1 if dim + events < 0 else events, any(one.is_discrete for one in sets))
    made.parts = sets, dim
    return made


real = Constraint("Real()", lambda x: x == x)
real_vector = independent(real, 1)
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), 0, True)
one_hot = Constraint("OneHot()", _one_hot, 1, True)
nonnegative_integer = _ordered("IntegerGreaterThan", True, lower_bound=0)
positive_integer = _ordered("IntegerGreaterThan", True, lower_bound=1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = Constraint("Simplex()", _simplex, 1)
lower_triangular = Constraint("LowerTriangular()", _matrix_is_lower, 2)
lower_cholesky = Constraint("LowerCholesky()", lambda x: _matrix_is_lower(x) & (np.diagonal(x, axis1=-2, axis2=-1) > 0).all(-1), 2)
corr_cholesky = Constraint("CorrCholesky()", _correlation_root, 2)
square = Constraint("Square()", lambda x: np.full(x.shape[:-2], x.shape[-2] == x.shape[-1]), 2)
symmetric = Constraint("Symmetric()", _symmetric, 2)
positive_definite = Constraint("PositiveDefinite()", _with_eigenvalues(lambda x: x > 0), 2)
positive_semidefinite = Constraint("PositiveSemidefinite()", _with_eigenvalues(lambda x: x >= 0), 2)
#: depends on other parameters, so that it is not checked
dependent = Constraint("Dependent()", lambda x: np.ones(x.shape, bool))
