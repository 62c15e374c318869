"""The base of all distributions: parameters, their constraints, shapes, and what scripts can do with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.declared_arguments import REQUIRED, DeclaredArguments, DeclaredConstructor
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType, script_type
from gradcli.core.calling.type_errors import not_iterable
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.functions import expand, f, together
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError

#: what every distribution has as an attribute, and as a method
_PROPERTIES = "mean mode variance stddev support batch_shape event_shape has_rsample has_enumerate_support arg_constraints param_shape"
_METHODS = "sample sample_n rsample log_prob cdf icdf entropy perplexity expand enumerate_support"


def _missing(text: str = "") -> ProgramError:
    return ProgramError("NotImplementedError", text)


class Distribution(DeclaredArguments):
    """A probability distribution.

    A subclass declares PARAMETERS and its formulas. Tensors given for parameters are fields of their names. A parameter that
    DERIVED has a formula for is computed when it is first read, and is a field from then on.
    """

    SCRIPT_NAME = "Distribution"
    SCRIPT_TYPE: ScriptType
    #: the parameters with their constraints, in the order of the repr
    PARAMETERS: Mapping[str, Constraint] = {}
    #: defaults of parameters
    DEFAULTS: Mapping[str, Any] = {}
    #: names of further fields that scripts read
    FIELDS = ""
    #: names of arguments that are no parameters, and are kept as they are
    HELD = ""
    #: the order of the arguments, where it is another than that of the repr
    ORDER = ""
    #: names of parameters of which exactly one is given
    EXCLUSIVE: tuple[str, ...] = ()
    DERIVED: Mapping[str, Callable[[Any], Tensor]] = {}
    SUPPORT: Constraint | None = None
    has_rsample = False
    has_enumerate_support = False
    batch_shape: Size
    event_shape: Size
    #: whether `validate_args` was given
    explicit: bool

    #: classes of programs may derive from distributions
    BASE_OF = "distributions"

    def __init_subclass__(cls, hidden: bool = False, known: bool = True) -> None:
        if not known:
            return
        order = cls.ORDER.split() or list(cls.PARAMETERS)
        defaults = dict.fromkeys(cls.EXCLUSIVE) | dict(cls.DEFAULTS)
        if "ARGUMENTS" not in vars(cls):
            cls.ARGUMENTS = {name: defaults.get(name, REQUIRED) for name in order} | {"validate_args": None}
        cls.SCRIPT_ATTRIBUTES = {**cls.SCRIPT_ATTRIBUTES, **{name: _getter(name) for name in (*cls.PARAMETERS, *cls.FIELDS.split())}}
        own = {name: Routine(vars(cls)[name], f"{cls.__name__}.{name}") for name in _METHODS.split() if name in vars(cls)}
        cls.SCRIPT_METHODS = {**cls.SCRIPT_METHODS, **own}
        cls.SCRIPT_NAME = cls.__name__
        if not hidden:
            script_type(cls, f"torch.distributions.{_module(cls.__name__)}").construct = DeclaredConstructor(cls, cls.__name__)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self.bind(args, kwargs)
        self.set_validation(given.pop("validate_args"))
        if self.EXCLUSIVE and sum(given[name] is not None for name in self.EXCLUSIVE) != 1:
            raise ProgramError("ValueError", self.exclusive_error())
        vars(self).update((name, given.pop(name)) for name in self.HELD.split())
        self.keep(given)
        self.validate()

    def exclusive_error(self) -> str:
        """What is said where not exactly one of EXCLUSIVE is given."""
        return f"Either {' or '.join(f'`{name}`' for name in self.EXCLUSIVE)} must be specified, but not both."

    def set_validation(self, validate_args: Any) -> None:
        """Take `validate_args`; None stands for what `set_default_validate_args` has set, which may change."""
        self.explicit = validate_args is not None
        if self.explicit:
            vars(self)["validates"] = bool(validate_args)

    @property
    def validates(self) -> bool:
        """Whether arguments are checked."""
        return bool(vars(self).get("validates", state.validates))

    @validates.setter
    def validates(self, value: Any) -> None:
        vars(self)["validates"] = value

    def keep(self, given: dict[str, Any]) -> None:
        """Make fields of the parameters, broadcast to one shape, and set the shapes."""
        names = [name for name, value in given.items() if value is not None or name not in self.EXCLUSIVE]
        vars(self).update(zip(names, together(*(given[name] for name in names)), strict=True))
        self.shapes(vars(self)[names[0]].shape)

    def shapes(self, batch: Any, event: Any = ()) -> None:
        """Set `batch_shape` and `event_shape`."""
        self.batch_shape, self.event_shape = Size(batch), Size(event)

    def validate(self) -> None:
        """Raise ValueError for a parameter that does not satisfy its constraint."""
        for name, constraint in self.arg_constraints.items() if self.validates else ():
            value = getattr(self, name) if name in vars(self) or name not in self.DERIVED else None
            if value is not None:
                self.check_parameter(name, value, constraint)

    def check_parameter(self, name: str, value: Tensor, constraint: Constraint) -> None:
        """Raise ValueError for the value of a parameter that does not satisfy the constraint."""
        if not constraint.holds(value):
            raise ProgramError(
                "ValueError",
                f"Expected parameter {name} ({_described(value)}) of distribution {self!r} to satisfy the constraint "
                f"{constraint!r}, but found invalid values:\n{formatted(value)}",
            )

    def __getattr__(self, name: str) -> Any:
        if name not in self.DERIVED:
            raise AttributeError(f"'{self.SCRIPT_NAME}' object has no attribute '{name}'")
        with recording(True):
            made = vars(self)[name] = self.DERIVED[name](self)
        return made

    def __repr__(self) -> str:
        return self.shown_with({name: vars(self)[name] for name in self.PARAMETERS if name in vars(self)})

    def shown_with(self, held: Mapping[str, Tensor]) -> str:
        """The repr with these parameters."""
        parts = (f"{name}: {formatted(value) if value.array.size == 1 else Size(value.shape)}" for name, value in held.items())
        return f"{self.SCRIPT_NAME}({', '.join(parts)})"

    def type_text(self) -> str:
        """How the type of the distribution is printed."""
        return repr(self.SCRIPT_TYPE)

    # --- what formulas use ---

    def full(self, sample_shape: Any = ()) -> Size:
        """The shape of a sample."""
        if not hasattr(sample_shape, "__iter__"):
            raise not_iterable(sample_shape)
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def checked(self, value: Any) -> Any:
        """The value itself. ValueError if its shape does not fit, or if it is not in the support."""
        if self.validates:
            self.check_sample(value)
        return value

    def check_sample(self, value: Any) -> None:
        """Raise ValueError for a value whose shape does not fit, or that is not in the support."""
        if type(value) is not Tensor:
            raise ProgramError("ValueError", "The value argument to log_prob must be a Tensor")
        shape, event, expected = value.shape, self.event_shape, self.full()
        if tuple(shape[max(len(shape) - len(event), 0) :]) != tuple(event):
            raise ProgramError("ValueError", f"The right-most size of value must match event_shape: {shape!r} vs {event!r}.")
        if any(1 not in (i, j) and i != j for i, j in zip(reversed(shape), reversed(expected), strict=False)):
            text = f"Value is not broadcastable with batch_shape+event_shape: {shape!r} vs {expected!r}."
            raise ProgramError("ValueError", text)
        try:
            support = self.support
        except ProgramError as error:
            if error.type_name != "NotImplementedError":
                raise
            warnings.emit(
                f"{self.type_text()} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation."
            )
            return
        if not support.holds(value):
            raise ProgramError(
                "ValueError",
                f"Expected value argument ({_described(value)}) to be within the support ({support!r}) of the distribution "
                f"{self!r}, but found invalid values:\n{formatted(value)}",
            )

    # --- what a distribution may define ---

    @property
    def support(self) -> Constraint:
        """The values that samples may have."""
        if self.SUPPORT is None:
            raise _missing()
        return self.SUPPORT

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The constraints of the parameters."""
        return dict(self.PARAMETERS)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise _missing()

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise _missing(f"{self.type_text()} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise _missing()

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return f.sqrt(self.variance)

    def draw(self, sample_shape: Any) -> Tensor:
        """A sample, by which gradients flow to the parameters if `has_rsample` is set."""
        raise _missing()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """A sample without a gradient, of the shape `sample_shape` followed by those of batch and event."""
        with recording(False):
            return self.draw(sample_shape)

    def sample_n(self, n: Any) -> Tensor:
        """`sample((n,))`, with PyTorch's warning of the older name."""
        warnings.emit("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", "FutureWarning")
        return self.sample((n,))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """A sample that is differentiable by the parameters. NotImplementedError where there is none."""
        if not self.has_rsample:
            raise _missing()
        return self.draw(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise _missing()

    def cdf(self, value: Any) -> Tensor:
        """The probability of values up to `value`."""
        raise _missing()

    def icdf(self, value: Any) -> Tensor:
        """The value up to which a sample is with the probability `value`."""
        raise _missing()

    def entropy(self) -> Tensor:
        """The entropy of each distribution of the batch."""
        raise _missing()

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return f.exp(self.entropy())

    def expand(self, batch_shape: Any, _instance: Any = None) -> Distribution:
        """The same distribution with its batch repeated to another shape."""
        made = object.__new__(type(self))
        vars(made).update((name, getattr(self, name)) for name in ("validates", *self.HELD.split()))
        for name, constraint in self.PARAMETERS.items():
            if type(vars(self).get(name)) is Tensor:
                value = vars(self)[name]
                event = value.shape[value.dim() - constraint.event_dim :]
                vars(made)[name] = expand(value, (*batch_shape, *event))
        made.shapes(batch_shape, self.event_shape)
        made.expanded(self)
        return made

    def expanded(self, source: Any) -> None:
        """Set further fields of a distribution that `expand` makes of another."""

    def support_values(self) -> Tensor:
        """All values of a discrete distribution in one dimension, or with the event's dimensions behind it."""
        raise _missing()

    def enumerate_support(self, expand: Any = True) -> Tensor:
        """All values of a discrete distribution, along a first dimension."""
        values = self.support_values()
        event = tuple(self.event_shape)
        values = f.reshape(values, (-1, *(1,) * len(self.batch_shape), *event))
        return f.broadcast_to(values, (-1, *self.batch_shape, *event)) if expand else values


def _of_class(name: str) -> Callable[[type[Distribution]], Any]:
    """What a class itself has under the name of an attribute. AttributeError where PyTorch has a property there."""

    def read(made: type[Distribution]) -> Any:
        found = getattr(made, name)
        if name == "support":
            found = made.SUPPORT
        elif name == "arg_constraints" and found is Distribution.arg_constraints and (made.PARAMETERS or made.SCRIPT_TYPE.construct):
            found = dict(made.PARAMETERS)
        if found is None or isinstance(found, property):
            raise ProgramError("AttributeError", f"{name} of the class {made.SCRIPT_NAME} is not part of gradcli")
        return found

    return read


def _set_default_validate_args(value: Any) -> None:
    if value not in (True, False):
        raise ProgramError("ValueError", "")
    state.validates = bool(value)


def _getter(name: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, name)


def _described(value: Tensor) -> str:
    return f"{'Parameter' if value.is_parameter else 'Tensor'} of shape {tuple(value.shape)}"


#: PyTorch's modules whose names are not the class's name in lower case with underscores
_MODULES = {"StudentT": "studentT", "FisherSnedecor": "fishersnedecor", "LowRankMultivariateNormal": "lowrank_multivariate_normal"}
_MODULES |= {"OneHotCategoricalStraightThrough": "one_hot_categorical", "LogitRelaxedBernoulli": "relaxed_bernoulli"}
_MODULES |= {"LKJCholesky": "lkj_cholesky", "ExponentialFamily": "exp_family"}
_MODULES |= {"RelaxedOneHotCategorical": "relaxed_categorical", "ExpRelaxedCategorical": "relaxed_categorical"}


def _module(name: str) -> str:
    """The module of torch.distributions that has a class."""
    return _MODULES.get(name) or "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


Distribution.SCRIPT_ATTRIBUTES = {name: _getter(name) for name in _PROPERTIES.split()} | {
    f"_{name}": _getter(field) for name, field in (("batch_shape",) * 2, ("event_shape",) * 2, ("validate_args", "validates"))
}
Distribution.SCRIPT_METHODS = {name: Routine(vars(Distribution)[name], f"Distribution.{name}") for name in _METHODS.split()} | {
    "_extended_shape": Routine(Distribution.full, "Distribution._extended_shape"),
    "_validate_sample": Routine(Distribution.check_sample, "Distribution._validate_sample"),
}
Distribution.SCRIPT_CLASS = {name: _of_class(name) for name in ("support", "arg_constraints", "has_rsample", "has_enumerate_support")}
Distribution.SCRIPT_STATIC = {"set_default_validate_args": Routine(_set_default_validate_args, "Distribution.set_default_validate_args")}
script_type(Distribution, "torch.distributions.distribution").construct = None


class ExponentialFamily(Distribution):
    """What PyTorch calls an exponential family: two of one class have a divergence by their natural parameters."""


ExponentialFamily.SCRIPT_TYPE.construct = None
