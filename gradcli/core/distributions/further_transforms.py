"""Transforms that change the shape of events, and those by the distribution function of a distribution."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.script_types import sequence_of
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.distributions import constraints
from gradcli.core.distributions.distribution import Distribution
from gradcli.core.distributions.functions import f, method
from gradcli.core.distributions.transforms import Shape, Transform
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError


class ReshapeTransform(Transform):
    """Events of one shape in another, with the same elements."""

    ARGUMENTS = {"in_shape": REQUIRED, "out_shape": REQUIRED, "cache_size": 0}
    COMPARED = staticmethod(lambda transform: [id(transform)])
    in_shape: Size
    out_shape: Size

    def keep(self, given: dict[str, Any]) -> None:
        self.in_shape, self.out_shape = (Size(sequence_of(given[name])) for name in ("in_shape", "out_shape"))
        if self.in_shape.numel() != self.out_shape.numel():
            raise ProgramError("ValueError", "in_shape, out_shape have different numbers of elements")

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def forward(self, x: Any) -> Tensor:
        _check_tensor(x)
        return f.reshape(x, (*self._batch_shape(x), *self.out_shape))

    def backward(self, y: Any) -> Tensor:
        _check_tensor(y)
        return f.reshape(y, (*tuple(y.shape)[: y.dim() - len(self.out_shape)], *self.in_shape))

    def _batch_shape(self, x: Any) -> Shape:
        return tuple(x.shape)[: x.dim() - len(self.in_shape)]

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        _check_tensor(x)
        found: Tensor = method("new_zeros", x, self._batch_shape(x))
        return found

    def forward_shape(self, shape: Shape) -> Shape:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _check_tensor(value: Any) -> None:
    if type(value) is not Tensor:
        raise no_attribute(value, "shape")


def _exchanged(shape: Shape, old: Size, new: Size) -> Shape:
    """A shape whose last dimensions, `old`, become `new`. ValueError where they are others."""
    cut = len(shape) - len(old)
    if cut < 0:
        raise ProgramError("ValueError", "Too few dimensions on input")
    if tuple(shape[cut:]) != tuple(old):
        raise ProgramError("ValueError", f"Shape mismatch: expected {type(shape)(shape[cut:])!r} but got {old!r}")
    return Size((*shape[:cut], *new))


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution."""

    ARGUMENTS = {"distribution": REQUIRED, "cache_size": 0}
    COMPARED = staticmethod(lambda transform: [id(transform)])
    domain = property(lambda self: self.distribution.support)
    codomain = constraints.unit_interval
    sign = 1
    distribution: Any

    def keep(self, given: dict[str, Any]) -> None:
        if not isinstance(given["distribution"], Distribution):
            raise no_attribute(given["distribution"], "support")
        super().keep(given)

    def forward(self, x: Any) -> Tensor:
        found: Tensor = self.distribution.cdf(x)
        return found

    def backward(self, y: Any) -> Tensor:
        found: Tensor = self.distribution.icdf(y)
        return found

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        found: Tensor = self.distribution.log_prob(x)
        return found
