"""`torch.distributions.transforms`: maps of random numbers with the logarithms of the determinants of their Jacobians."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredArguments, DeclaredConstructor
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.core.distributions import constraints
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.functions import Number, f, f_nn, precision, smallest, sum_last
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError

Shape = tuple[int, ...]


def _getter(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, name)


def checked_cache_size(value: Any) -> bool:
    """Whether a cache has one value, or none. ValueError for another number."""
    if type(value) not in Number or value not in (0, 1):
        raise ProgramError("ValueError", "cache_size must be 0 or 1")
    return bool(value)


class Transform(DeclaredArguments):
    """A map from `domain` to `codomain`. `inv` is its inverse, or a section of it where `bijective` is not set."""

    SCRIPT_NAME = "Transform"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = {name: _getter(name) for name in ["domain", "codomain", "bijective", "sign", "inv", "event_dim"]}
    ARGUMENTS = {"cache_size": 0}
    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real
    bijective = True
    #: what `==` compares with that of another transform of the class
    COMPARED: Callable[[Any], Any] = staticmethod(lambda transform: ())

    SCRIPT_INIT: ClassVar[DeclaredConstructor]
    #: classes of programs may derive from this one
    BASE_OF = "distributions"

    def __init_subclass__(cls, known: bool = True) -> None:
        if not known:
            return
        cls.BASE_OF = ""
        cls.SCRIPT_NAME = cls.__name__
        own = {name: _getter(name) for name in cls.ARGUMENTS if name not in ("cache_size", "tseq")}
        cls.SCRIPT_ATTRIBUTES = cls.SCRIPT_ATTRIBUTES | own
        script_type(cls, "torch.distributions.transforms").construct = DeclaredConstructor(cls, cls.__name__)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self.bind(args, kwargs)
        self.cache_size = checked_cache_size(given.pop("cache_size"))
        self.empty_cache()
        self.keep(given)

    def empty_cache(self) -> None:
        """Forget the last input and its output, which are kept with a cache of one value, and the inverse."""
        self.cached: tuple[Any, Any] = (None, None)
        self.inverse: Transform | None = None

    def keep(self, given: dict[str, Any]) -> None:
        """Keep the arguments as fields."""
        vars(self).update(given)

    @property
    def event_dim(self) -> int:
        """The dimensions of an event. ValueError where the codomain has others than the domain."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ProgramError("ValueError", "Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def sign(self) -> Any:
        """The sign of the derivative. NotImplementedError where there is none."""
        if type(self) not in _INCREASING:
            raise ProgramError("NotImplementedError", "")
        return 1

    @property
    def inv(self) -> Transform:
        """The inverse, always the same object."""
        if self.inverse is None:
            self.inverse = self.made_inverse()
        return self.inverse

    def made_inverse(self) -> Transform:
        """A new inverse."""
        made = object.__new__(Inverse)
        made.of = self
        return made

    def with_cache(self, cache_size: Any = 1) -> Transform:
        """The same transform with another size of the cache."""
        size = checked_cache_size(cache_size)
        if self.cache_size is size:
            return self
        made = copy.copy(self)
        made.cache_size = size
        made.empty_cache()
        made.cache_parts()
        return made

    def cache_parts(self) -> None:
        """Give what the transform is made of the size of its cache."""

    def forward(self, x: Any) -> Tensor:
        """The map."""
        raise ProgramError("NotImplementedError", "")

    def backward(self, y: Any) -> Tensor:
        """The inverse map."""
        raise ProgramError("NotImplementedError", "")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        """The logarithm of the determinant of the Jacobian, for an input and its output."""
        raise ProgramError("NotImplementedError", "")

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape of the output."""
        return shape

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape of the input."""
        return shape

    def __call__(self, x: Any) -> Tensor:
        if self.cache_size and x is self.cached[0]:
            return self.cached[1]
        y = self.forward(x)
        if self.cache_size:
            self.cached = x, y
        return y

    def invert(self, y: Any) -> Tensor:
        """The input of an output."""
        if self.cache_size and y is self.cached[1]:
            return self.cached[0]
        x = self.backward(y)
        if self.cache_size:
            self.cached = x, y
        return x

    def __repr__(self) -> str:
        return f"{self.SCRIPT_NAME}()"

    SCRIPT_METHODS = {
        "__call__": Routine(lambda self, x: self(x), "Transform.__call__"),
        "with_cache": Routine(lambda self, cache_size=1: self.with_cache(cache_size), "Transform.with_cache"),
        **{
            name: Routine(lambda self, *args, name=name: getattr(self, name)(*args), f"Transform.{name}")
            for name in ("log_abs_det_jacobian", "forward_shape", "inverse_shape")
        },
    }


class Inverse(Transform):
    """The inverse of another transform; PyTorch's type of it is `_InverseTransform`."""

    ARGUMENTS = {"transform": REQUIRED, "cache_size": 0}
    of: Transform
    COMPARED = staticmethod(lambda transform: [transform.of])
    domain = property(lambda self: self.of.codomain)
    codomain = property(lambda self: self.of.domain)
    bijective = property(lambda self: self.of.bijective)
    sign = property(lambda self: self.of.sign)
    inv = property(lambda self: self.of)

    def __call__(self, x: Any) -> Tensor:
        return self.of.invert(x)

    def invert(self, y: Any) -> Tensor:
        return self.of(y)

    def with_cache(self, cache_size: Any = 1) -> Transform:
        return self.of.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return -self.of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> Shape:
        return self.of.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Shape:
        return self.of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self.of!r})"


class ExpTransform(Transform):
    """`exp(x)`."""

    codomain = constraints.positive

    def forward(self, x: Any) -> Tensor:
        return f.exp(x)

    def backward(self, y: Any) -> Tensor:
        return f.log(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return x


class PowerTransform(Transform):
    """`x ** exponent`."""

    ARGUMENTS = {"exponent": REQUIRED, "cache_size": 0}
    domain = codomain = constraints.positive
    sign = property(lambda self: f.sign(self.exponent))
    exponent: Tensor
    COMPARED = staticmethod(lambda transform: [transform.exponent.array.tolist()])

    def keep(self, given: dict[str, Any]) -> None:
        self.exponent = f.as_tensor(given["exponent"])

    def forward(self, x: Any) -> Tensor:
        return f.pow(x, self.exponent)

    def backward(self, y: Any) -> Tensor:
        return f.pow(y, 1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return f.log(f.abs(self.exponent * y / x))

    def forward_shape(self, shape: Shape) -> Shape:
        return Size(f.broadcast_shapes(tuple(shape), tuple(self.exponent.shape)))

    inverse_shape = forward_shape


class SigmoidTransform(Transform):
    """`1 / (1 + exp(-x))`, kept away from 0 and 1."""

    codomain = constraints.unit_interval

    def forward(self, x: Any) -> Tensor:
        return f.clamp(f.sigmoid(x), min=smallest(x.dtype), max=1.0 - precision(x.dtype))

    def backward(self, y: Any) -> Tensor:
        kept = f.clamp(y, min=smallest(y.dtype), max=1.0 - precision(y.dtype))
        return f.log(kept) - f.log1p(-kept)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return -f_nn("softplus", -x) - f_nn("softplus", x)


class SoftplusTransform(Transform):
    """`log(1 + exp(x))`."""

    codomain = constraints.positive

    def forward(self, x: Any) -> Tensor:
        return f_nn("softplus", x)

    def backward(self, y: Any) -> Tensor:
        return f.log(f.neg(f.expm1(-y))) + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return -f_nn("softplus", -x)


class TanhTransform(Transform):
    """`tanh(x)`."""

    codomain = constraints.interval(-1.0, 1.0)

    def forward(self, x: Any) -> Tensor:
        return f.tanh(x)

    def backward(self, y: Any) -> Tensor:
        return f.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return 2.0 * (math.log(2.0) - x - f_nn("softplus", -2.0 * x))


class AbsTransform(Transform):
    """`abs(x)`, which has no inverse."""

    codomain = constraints.positive
    bijective = False

    def forward(self, x: Any) -> Tensor:
        return f.abs(x)

    def backward(self, y: Any) -> Tensor:
        return y


class AffineTransform(Transform):
    """`loc + scale * x`; events have `event_dim` dimensions."""

    ARGUMENTS = {"loc": REQUIRED, "scale": REQUIRED, "event_dim": 0, "cache_size": 0}
    loc: Any
    scale: Any
    COMPARED = staticmethod(lambda transform: [x.array.tolist() if type(x) is Tensor else x for x in (transform.loc, transform.scale)])

    def keep(self, given: dict[str, Any]) -> None:
        for value in (given["loc"], given["scale"]):
            if not isinstance(value, (*Number, Tensor)):
                raise type_error("unsupported operand type(s) for *: '{}' and 'Tensor'", value)
        dims = given.pop("event_dim")
        if dims:
            self.domain = self.codomain = constraints.independent(constraints.real, dims)
        super().keep(given)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return f.sign(self.scale)

    def forward(self, x: Any) -> Tensor:
        return self.loc + self.scale * x

    def backward(self, y: Any) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        number = isinstance(self.scale, Number)
        log_scale = f.full_like(x, math.log(abs(self.scale))) if number else f.log(f.abs(self.scale))
        dims = self.event_dim
        return f.broadcast_to(sum_last(log_scale, dims) if dims else log_scale, tuple(x.shape[: x.dim() - dims]))

    def forward_shape(self, shape: Shape) -> Shape:
        given = [tuple(getattr(value, "shape", ())) for value in (self.loc, self.scale)]
        return Size(f.broadcast_shapes(tuple(shape), *given))

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """Softmax over the last dimension, which has no inverse."""

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = False

    def forward(self, x: Any) -> Tensor:
        shares = f.exp(x - f.max(x, -1, True)[0])
        return shares / f.sum(shares, -1, True)

    def backward(self, y: Any) -> Tensor:
        return f.log(y)


class StickBreakingTransform(Transform):
    """Breaks shares off a stick, one after the other: k numbers to k + 1 probabilities."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _offset(self, size: int, dtype: Any) -> Tensor:
        return (size + 1) - f.cumsum(f.ones(size, dtype=dtype), -1)

    def forward(self, x: Any) -> Tensor:
        offset = self._offset(x.shape[-1], x.dtype)
        broken = SigmoidTransform().forward(x - f.log(offset))
        rest = f.cumprod(1 - broken, -1)
        return f_nn("pad", broken, [0, 1], value=1) * f_nn("pad", rest, [1, 0], value=1)

    def backward(self, y: Any) -> Tensor:
        kept = f.narrow(y, -1, 0, y.shape[-1] - 1)
        rest = f.clamp(1 - f.cumsum(kept, -1), min=smallest(y.dtype))
        return f.log(kept) - f.log(rest) + f.log(self._offset(kept.shape[-1], y.dtype))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        x = x - f.log(self._offset(x.shape[-1], x.dtype))
        return f.sum(-x + f_nn("logsigmoid", x) + f.log(f.narrow(y, -1, 0, y.shape[-1] - 1)), -1)

    def forward_shape(self, shape: Shape) -> Shape:
        return type(shape)((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Shape) -> Shape:
        return type(shape)((*shape[:-1], shape[-1] - 1))


#: transforms of numbers whose derivative is positive
_INCREASING = (ExpTransform, SigmoidTransform, SoftplusTransform, TanhTransform)
script_type(Transform, "torch.distributions.transforms").construct = None
#: checks the arguments of the `__init__` that classes of programs derive
Transform.SCRIPT_INIT = DeclaredConstructor(Transform, "Transform")
