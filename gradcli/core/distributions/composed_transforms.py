"""Transforms made of others: several one after the other, and one whose events have dimensions of the batch too."""

from __future__ import annotations

import math
from typing import Any

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.script_types import sequence_of
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.distributions import constraints
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.functions import f, sum_last
from gradcli.core.distributions.transforms import Shape, Transform
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError


class IndependentTransform(Transform):
    """Another transform with dimensions of the batch as dimensions of its events."""

    ARGUMENTS = {"base_transform": REQUIRED, "reinterpreted_batch_ndims": REQUIRED, "cache_size": 0}
    base_transform: Transform
    reinterpreted_batch_ndims: int
    COMPARED = staticmethod(lambda transform: [id(transform)])

    def keep(self, given: dict[str, Any]) -> None:
        if not isinstance(given["base_transform"], Transform):
            raise no_attribute(given["base_transform"], "with_cache")
        super().keep(given)
        self.cache_parts()

    def cache_parts(self) -> None:
        self.base_transform = self.base_transform.with_cache(self.cache_size)

    domain = property(lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims))
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def forward(self, x: Any) -> Tensor:
        _check_dimensions(x, self.domain)
        return self.base_transform(x)

    def backward(self, y: Any) -> Tensor:
        _check_dimensions(y, self.codomain)
        return self.base_transform.invert(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return sum_last(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Shape) -> Shape:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def _check_dimensions(value: Any, of: Constraint) -> None:
    """Raise ValueError for a tensor with fewer dimensions than an event has."""
    if value.dim() < of.event_dim:
        raise ProgramError("ValueError", "Too few dimensions on input")


def _widest(parts: list[Transform], forward: bool) -> int:
    """The dimensions of events at the end, or at the beginning, of a chain in which each part keeps or changes them."""
    order = parts if forward else parts[::-1]
    dims = (order[-1].codomain if forward else order[-1].domain).event_dim
    reached = (order[0].domain if forward else order[0].codomain).event_dim
    for part in order:
        into, out = (part.domain, part.codomain) if forward else (part.codomain, part.domain)
        reached = max(reached, into.event_dim) + out.event_dim - into.event_dim
    return max(dims, reached)


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    ARGUMENTS = {"parts": REQUIRED, "cache_size": 0}
    parts: list[Transform]
    COMPARED = staticmethod(lambda transform: transform.parts)

    def keep(self, given: dict[str, Any]) -> None:
        given["parts"] = list(sequence_of(given["parts"]))
        for part in given["parts"]:
            if not isinstance(part, Transform):
                raise no_attribute(part, "with_cache")
        super().keep(given)
        self.cache_parts()

    def cache_parts(self) -> None:
        if self.cache_size:
            self.parts = [part.with_cache(self.cache_size) for part in self.parts]

    def made_inverse(self) -> Transform:
        made = ComposeTransform([part.inv for part in self.parts[::-1]])
        made.inverse = self
        return made

    bijective = property(lambda self: all(part.bijective for part in self.parts))

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        """The first domain, with as many dimensions as the parts need."""
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        return constraints.independent(first, more) if (more := _widest(self.parts, False) - first.event_dim) else first

    @property
    def codomain(self) -> Constraint:  # type: ignore[override]
        """The last codomain, with as many dimensions as the parts need."""
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        return constraints.independent(last, more) if (more := _widest(self.parts, True) - last.event_dim) else last

    @property
    def sign(self) -> Any:
        return math.prod((part.sign for part in self.parts), start=1)

    def __call__(self, x: Any) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def invert(self, y: Any) -> Tensor:
        for part in self.parts[::-1]:
            y = part.invert(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        if not self.parts:
            return f.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        dims, total = self.domain.event_dim, None
        for part, before, after in zip(self.parts, values[:-1], values[1:], strict=True):
            term = sum_last(part.log_abs_det_jacobian(before, after), dims - part.domain.event_dim)
            total = term if total is None else total + term
            dims += part.codomain.event_dim - part.domain.event_dim
        assert total is not None
        return total

    def forward_shape(self, shape: Shape) -> Shape:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        for part in self.parts[::-1]:
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(formatted(part) for part in self.parts) + "\n)"


#: what leaves numbers as they are
identity_transform = ComposeTransform([])
