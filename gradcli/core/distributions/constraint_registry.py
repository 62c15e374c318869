"""`biject_to` and `transform_to`: transforms from all numbers to those that a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.distributions import matrix_transforms, transforms
from gradcli.core.distributions.composed_transforms import ComposeTransform, IndependentTransform, identity_transform
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.functions import Number
from gradcli.core.distributions.parted_transforms import CatTransform, StackTransform
from gradcli.core.distributions.transforms import Transform
from gradcli.errors import ProgramError

Find = Callable[[Constraint], Transform]


def _above(constraint: Constraint, find: Find) -> Transform:
    return ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.bounds["lower_bound"], 1)])


def _below(constraint: Constraint, find: Find) -> Transform:
    return ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.bounds["upper_bound"], -1)])


def _between(constraint: Constraint, find: Find) -> Transform:
    low, high = constraint.bounds.values()
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _independent(constraint: Constraint, find: Find) -> Transform:
    assert constraint.base is not None
    return IndependentTransform(find(constraint.base), constraint.event_dim - constraint.base.event_dim)


def _by_parts(kind: Callable[..., Transform]) -> Callable[[Constraint, Find], Transform]:
    return lambda constraint, find: kind([find(one) for one in constraint.parts[0]], *constraint.parts[1:])


#: by the name of a kind of constraints, what makes the transform of one
_BOTH: dict[str, Callable[[Constraint, Find], Transform]] = {
    "Real": lambda constraint, find: identity_transform,
    "IndependentConstraint": _independent,
    "GreaterThan": _above,
    "GreaterThanEq": _above,
    "LessThan": _below,
    "Interval": _between,
    "HalfOpenInterval": _between,
    "CorrCholesky": lambda constraint, find: matrix_transforms.CorrCholeskyTransform(),
    "Cat": _by_parts(CatTransform),
    "Stack": _by_parts(StackTransform),
}
_BIJECTIVE = _BOTH | {"Simplex": lambda constraint, find: transforms.StickBreakingTransform()}
_ANY = _BOTH | {
    "Simplex": lambda constraint, find: transforms.SoftmaxTransform(),
    "LowerCholesky": lambda constraint, find: matrix_transforms.LowerCholeskyTransform(),
    **dict.fromkeys(("PositiveDefinite", "PositiveSemidefinite"), lambda constraint, find: matrix_transforms.PositiveDefiniteTransform()),
}


def _found(table: dict[str, Callable[[Constraint, Find], Transform]], constraint: Any) -> Transform:
    if not isinstance(constraint, Constraint):
        raise ProgramError("NotImplementedError", f"Cannot transform {language.type_name(constraint)} constraints")
    kind = constraint.text.partition("(")[0]
    make = table.get(kind)
    if make is None:
        raise ProgramError("NotImplementedError", f"Cannot transform _{kind} constraints")
    return make(constraint, lambda base: _found(table, base))


@Routine
def biject_to(constraint: Any) -> Transform:
    """The transform of all numbers to those of a constraint that has an inverse.

    Raises NotImplementedError where there is none.
    """
    return _found(_BIJECTIVE, constraint)


@Routine
def transform_to(constraint: Any) -> Transform:
    """A transform of all numbers to those of a constraint, which need not have an inverse.

    Raises NotImplementedError where there is none.
    """
    return _found(_ANY, constraint)
