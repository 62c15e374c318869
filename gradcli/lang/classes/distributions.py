"""Classes derived from the distributions of torch.distributions and from Transform."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.core.distributions.constraints import Constraint
from gradcli.core.distributions.distribution import Distribution, ExponentialFamily
from gradcli.core.distributions.transforms import Transform, checked_cache_size
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.errors import ProgramError
from gradcli.lang.classes.hosts import HostedObject, overriding
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.special_methods import Instance, run
from gradcli.lang.values.type_names import path_of
from gradcli.lang.values.user_classes import Property, UserClass, read_instance
from gradcli.lang.values.value_classes import MISSING, BoundMethod, Builtin


def _not_implemented(text: str = "") -> ProgramError:
    return ProgramError("NotImplementedError", text)


def _own_init(name: str, of: str) -> ProgramError:
    """The error for `expand` of a class whose `__init__` may need other arguments than that of its base."""
    text = f"Subclass {name} of {of} that defines a custom __init__ method must also define a custom .expand() method."
    return _not_implemented(text)


def _type_text(instance: HostedObject) -> str:
    return f"<class '{path_of(instance)}'>"


def _of_program(instance: HostedObject, name: str) -> Value:
    """What the program has defined under a name; MISSING if nothing."""
    defined = name in instance.fields or instance.cls.find(name) is not MISSING
    return read_instance(instance, name) if defined else MISSING


def _required(instance: HostedObject, name: str) -> Value:
    """What the program has defined under a name. NotImplementedError if nothing."""
    own = _of_program(instance, name)
    if own is MISSING:
        raise _not_implemented()
    return own


def _property(name: str, default: Value = MISSING) -> Any:
    """A property for core to read: that of the program, else that of the native base, else the default."""

    def read(self: Any) -> Value:
        own = _of_program(self, name)
        if own is not MISSING:
            return own
        found = getattr(self.MADE, name) if default is MISSING else default
        return found.__get__(self) if isinstance(found, property) else found

    return property(read)


#: the fields that core has under other names
_HELD_AS = {"_batch_shape": "batch_shape", "_event_shape": "event_shape", "_validate_args": "validates"}


def _can_replace(old: Any, new: Any) -> bool:
    """Whether formulas that use one value of a field can use another."""
    if type(old) is Tensor:
        return type(new) is Tensor and new.array.ndim >= old.array.ndim
    if isinstance(old, tuple):
        return isinstance(new, tuple) and all(type(n) is int for n in new)
    if isinstance(old, list):
        return isinstance(new, list) and all(isinstance(one, Transform) for one in new)
    return isinstance(new, Distribution if isinstance(old, Distribution) else type(old))


class DistributionObject(HostedObject):
    """An instance of a class that derives from a distribution."""

    log_prob = overriding("log_prob")
    cdf = overriding("cdf")
    icdf = overriding("icdf")
    entropy = overriding("entropy")
    enumerate_support = overriding("enumerate_support")
    mean, mode, variance, stddev = (_property(name) for name in ("mean", "mode", "variance", "stddev"))
    has_rsample, has_enumerate_support = _property("has_rsample"), _property("has_enumerate_support")
    arg_constraints, support = _property("arg_constraints"), _property("support")
    sample, rsample = overriding("sample"), overriding("rsample")

    @classmethod
    def of_class(cls, user_class: Any, name: str) -> Value:
        getter = cls.MADE.SCRIPT_CLASS.get(name)
        return cls.MADE.SCRIPT_STATIC.get(name, MISSING) if getter is None else getter(cls.MADE)

    @classmethod
    def prepare_class(cls, user_class: Any) -> None:
        """Refuse samples whose gradients are the program's own where those of the base do not come from them."""
        if "rsample" in user_class.fields and user_class.find("sample") is MISSING:
            raise _not_implemented(f"a class that derives from {cls.MADE.SCRIPT_NAME} and defines rsample alone is not part of gradcli")

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        super().initialise(args, kwargs)
        for name in vars(self).keys() & self.MADE.SCRIPT_ATTRIBUTES.keys():  # what the base has set is the later value
            self.fields.pop(name, None)

    def write(self, name: str, value: Value) -> None:
        name = _HELD_AS.get(name, name)
        known = name in vars(self) or name == "validates"
        if known and (name in self.MADE.SCRIPT_ATTRIBUTES or name in _HELD_AS.values()):
            if not _can_replace(getattr(self, name), value):
                raise type_error(f"{name} of a distribution has to stay of its type, not become '{{}}'", value)
            vars(self)[name] = value
        else:
            super().write(name, value)

    def type_text(self) -> str:
        return _type_text(self)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with its batch repeated to another shape."""
        own = _of_program(self, "expand")
        return self.base_expand(batch_shape, _instance) if own is MISSING else run(own, (batch_shape,))

    def base_expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """`super().expand(batch_shape)`."""
        if _instance is not None:
            raise _not_implemented("expand with an instance is not part of gradcli")
        if self.cls.find("__init__") is not MISSING:
            raise _own_init(self.SCRIPT_NAME, self.MADE.SCRIPT_NAME)
        made: Any = self.MADE.expand(self, batch_shape)
        made.cls, made.fields = self.cls, {}
        return made

    SPECIAL = {"expand": Routine(base_expand, "Distribution.expand")}


class OwnDistribution(DistributionObject):
    """An instance of a class that derives from Distribution itself, or from ExponentialFamily: all formulas are the program's."""

    check_parameter: Any
    set_validation: Any
    shown_with: Any
    validates: Any

    @classmethod
    def prepare_class(cls, user_class: Any) -> None:
        """Every class is fine."""

    @property
    def arg_constraints(self) -> Any:
        """The constraints of the parameters."""
        return _required(self, "arg_constraints")

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        _BEGIN(self, *args, **kwargs)

    def begin(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: Any = None) -> None:  # noqa: B008
        """Set the shapes, and check the parameters. ValueError for one that does not satisfy its constraint."""
        self.batch_shape, self.event_shape = batch_shape, event_shape
        self.set_validation(validate_args)
        if self.validates:
            self.check_parameters()

    def check_parameters(self) -> None:
        """Raise ValueError for a parameter that does not satisfy its constraint; warn where there are no constraints."""
        if _of_program(self, "arg_constraints") is MISSING:
            warnings.emit(
                f"{_type_text(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation."
            )
            return
        for name, constraint in dict(self.arg_constraints).items():
            value = read_instance(self, name)
            if value is MISSING:
                raise no_attribute(self, name)
            if not isinstance(constraint, Constraint):
                raise _not_implemented("a constraint of the program is not part of gradcli")
            if type(value) is not Tensor:
                raise ProgramError("TypeError", "_is_all_true(): argument 'input' (position 1) must be Tensor, not bool")
            self.check_parameter(name, value, constraint)

    def check_sample(self, value: Any) -> None:
        """As `Distribution.check_sample`, with a warning where there is no support."""
        if _of_program(self, "support") is MISSING and type(value) is Tensor:
            warnings.emit(
                f"{_type_text(self)} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation."
            )
            return
        self.MADE.check_sample(self, value)

    def sample(self, sample_shape: Any = ()) -> Any:
        """A sample without a gradient: that of `rsample` where the program defines no other."""
        own = _of_program(self, "sample")
        return self.base_sample(sample_shape) if own is MISSING else run(own, (sample_shape,))

    def base_sample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """`super().sample(sample_shape)`."""
        with recording(False):
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """A sample that is differentiable by the parameters."""
        return run(_required(self, "rsample"), (sample_shape,))

    def base_rsample(self, sample_shape: Any = Size()) -> Any:  # noqa: B008
        """`super().rsample(sample_shape)`."""
        raise _not_implemented()

    def base_expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """`super().expand(batch_shape)`."""
        raise _not_implemented()

    def checked_instance(self, cls: Any, _instance: Any = None) -> Any:
        """A new instance for `expand` to fill, or the one that is given. NotImplementedError for a class with an `__init__` of its own."""
        if _instance is not None:
            return _instance
        if not isinstance(cls, UserClass) or self.cls.find("__init__") is not cls.find("__init__"):
            raise _own_init(self.SCRIPT_NAME, cls.name)
        return type(self).new(self.cls, ())

    def __repr__(self) -> str:
        held = {name: self.fields[name] for name in dict(self.arg_constraints) if name in self.fields}
        return str(self.shown_with(held))

    def own_repr(self, address: str) -> str:
        return repr(self)

    SPECIAL = {
        "sample": Routine(base_sample, "Distribution.sample"),
        "rsample": Routine(base_rsample, "Distribution.rsample"),
        "expand": Routine(base_expand, "Distribution.expand"),
        "_get_checked_instance": Routine(checked_instance, "Distribution._get_checked_instance"),
    }


_BEGIN = Routine(OwnDistribution.begin, "Distribution.__init__", hide_first=True)


class TransformObject(HostedObject):
    """An instance of a class that derives from Transform: it has `_call`, `_inverse` and `log_abs_det_jacobian` of the program."""

    cache_size: Any

    domain, codomain = _property("domain"), _property("codomain")
    bijective = _property("bijective", False)
    event_dim = _property("event_dim")
    log_abs_det_jacobian = overriding("log_abs_det_jacobian")
    forward_shape, inverse_shape = overriding("forward_shape"), overriding("inverse_shape")

    @property
    def sign(self) -> Value:
        """The sign of the derivative."""
        return _required(self, "sign")

    @property
    def inv(self) -> Value:
        """The inverse."""
        own = _of_program(self, "inv")
        return self.MADE.inv.fget(self) if own is MISSING else own

    def forward(self, x: Any) -> Any:
        """The program's map."""
        return self._own("_call", x)

    def backward(self, y: Any) -> Any:
        """The program's inverse."""
        return self._own("_inverse", y)

    def _own(self, name: str, value: Any) -> Any:
        return run(_required(self, name), (value,))

    def __call__(self, x: Any) -> Any:
        own = self.cls.find("__call__")
        return self.MADE.__call__(self, x) if own is MISSING else run(own, (self, x))

    def with_cache(self, cache_size: Any = 1) -> Any:
        """The same transform with another size of the cache."""
        own = _of_program(self, "with_cache")
        return self.base_with_cache(cache_size) if own is MISSING else run(own, (cache_size,))

    def base_with_cache(self, cache_size: Any = 1) -> Any:
        """`super().with_cache(cache_size)`."""
        if self.cache_size is checked_cache_size(cache_size):
            return self
        if self.cls.find("__init__") is MISSING:
            return run(self.cls, (), {"cache_size": int(not self.cache_size)})
        raise _not_implemented(f"{_type_text(self)}.with_cache is not implemented")

    def native(self, name: str) -> Value:
        if name in ("domain", "codomain", "sign"):
            return MISSING if name != "sign" else self.sign
        if name == "_cache_size":
            return int(self.cache_size)
        if name in ("_call", "_inverse"):
            return BoundMethod(self, name, _MISSING_MAP)
        return super().native(name)

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        Transform.SCRIPT_INIT.check((None, *args), dict(kwargs))
        Transform.__init__(self, *args, **kwargs)  # type: ignore[arg-type]

    SPECIAL = {"with_cache": Routine(base_with_cache, "Transform.with_cache")}


def _missing_map(self: Any, x: Any) -> Any:
    raise _not_implemented()


_MISSING_MAP = Routine(_missing_map, "Transform._call")


@cache
def _host(made: type[Any]) -> type[HostedObject]:
    own = made in (Distribution, ExponentialFamily)
    kind = TransformObject if made is Transform else OwnDistribution if own else DistributionObject
    return type(made.__name__, (kind, made), {"MADE": made, "__module__": __name__}, known=False)


def host_of(native: ScriptType) -> type[Instance]:
    """The class of the instances of classes with this base."""
    assert native.instances is not None
    return _host(native.instances)


def _dependent_property(fn: Value = None, *, is_discrete: Value = None, event_dim: Value = None) -> Value:
    """`constraints.dependent_property`: a property that is a constraint, or with keywords what makes one of a function."""
    return Builtin("dependent_property", Property) if fn is None else Property(fn)


DEPENDENT_PROPERTY = Routine(_dependent_property, "dependent_property")
