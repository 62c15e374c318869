"""Special methods of instances of the program's classes: truth, comparison, operators, hash, and calling what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from gradcli.core.calling.type_errors import not_an_integer, not_callable, type_error
from gradcli.core.ops import operators as core
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError
from gradcli.lang.python.dict_views import DictView
from gradcli.lang.python.object_protocol import HOST_TYPES, Value, value_error
from gradcli.lang.values.user_functions import UserFunction, invoke
from gradcli.lang.values.value_classes import MISSING, NO_KEYWORDS, Special, register

#: the special methods that classes may define. The others would reach Python's own machinery.
SPECIAL_METHODS = frozenset(
    f"__{name}__"
    for name in (
        *("init", "repr", "str", "call", "len", "getitem", "setitem", "delitem", "iter", "next", "contains", "reversed"),
        *("enter", "exit", "eq", "ne", "lt", "le", "gt", "ge", "hash", "bool", "format", "getattr", "setattr", "delattr"),
        *("missing", "length_hint", "post_init", "class_getitem", "init_subclass", "add", "sub", "mul", "truediv"),
        *("floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "divmod", "radd", "rsub", "rmul"),
        *("rtruediv", "rfloordiv", "rmod", "rpow", "rmatmul", "rand", "ror", "rxor", "rlshift", "rrshift", "rdivmod"),
        *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift"),
        *("irshift", "neg", "pos", "invert", "abs", "round", "trunc", "floor", "ceil", "int", "float", "index"),
        *("copy", "deepcopy"),
    )
)
#: further names with underscores on both sides that the body of a class may bind
CLASS_NAMES = SPECIAL_METHODS | {"__doc__", "__slots__", "__match_args__", "__constants__"}


class ClassOfInstances(Protocol):
    """What this module asks of a class that the program defines."""

    @property
    def name(self) -> str:
        """`__name__`."""

    @property
    def qualified(self) -> str:
        """`__qualname__`."""

    @property
    def mro(self) -> tuple[Value, ...]:
        """The method resolution order."""

    def find(self, name: str) -> Value:
        """The attribute of the class or of a base, or MISSING."""


class Instance(Special):
    """An instance of a class that the program defines: `cls`, and the attributes `fields`.

    Subclasses are the instances of classes with a native base, such as nn.Module.
    """

    __slots__ = ()

    cls: ClassOfInstances
    fields: dict[str, Value]

    #: attributes and methods of the native base: called with the instance, gives what a program reads
    NATIVE: ClassVar[Mapping[str, Callable[[Any], Value]]] = {}
    #: whether the native base has no hash
    UNHASHABLE: ClassVar[bool] = False

    @classmethod
    def new(cls, user_class: ClassOfInstances, args: tuple[Value, ...]) -> Instance:
        """An instance before its `__init__`."""
        made: Any = cls.__new__(cls)
        made.cls = user_class
        made.fields = {}
        return made  # type: ignore[no-any-return]

    @classmethod
    def prepare_class(cls, user_class: Any) -> None:
        """Change a class that was just made, as its native base asks for."""

    def initialise(self, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> None:
        """`__init__` of the native base. Raises TypeError."""
        if args or kwargs:
            if self.cls.find("__init__") is MISSING:
                raise type_error("{}() takes no arguments", self)
            raise type_error("object.__init__() takes exactly one argument (the instance to initialize)")

    def as_error(self) -> Value:
        """The error that `raise` raises for the instance; the instance itself where its class is no exception type."""
        return self

    def native(self, name: str) -> Value:
        """What the native base has under `name`, bound to the instance; MISSING if nothing."""
        getter = self.NATIVE.get(name)
        return MISSING if getter is None else getter(self)

    @classmethod
    def of_class(cls, user_class: Any, name: str) -> Value:
        """What a class of the program has from its native base under `name`, such as `apply`; MISSING if nothing."""
        return MISSING

    def read(self, name: str) -> Value:
        """An attribute of the instance itself, or MISSING."""
        return self.fields.get(name, MISSING)

    def write(self, name: str, value: Value) -> None:
        """Set an attribute of the instance itself."""
        self.fields[name] = value

    def names(self) -> Iterable[str]:
        """The names of the attributes of the instance itself and of the native base."""
        return (*self.fields, *self.NATIVE)

    def attributes(self) -> Value:
        """`__dict__`; MISSING where what the native base keeps is not all known."""
        return MISSING

    def remove(self, name: str) -> bool:
        """Delete an attribute of the instance itself; False if there is none."""
        return self.fields.pop(name, MISSING) is not MISSING

    def own_repr(self, address: str) -> str:
        """The repr where no class of the program defines one."""
        return f"<__main__.{self.cls.qualified} object at {address}>"

    def __eq__(self, other: object) -> Any:
        # Python asks the other side, and then compares identities
        method = special(self, "__eq__")
        found = NOT_IMPLEMENTED if method is None else method(other)
        return NotImplemented if found is NOT_IMPLEMENTED else truth(found)

    def __hash__(self) -> int:
        return hash_of(self)


def run(function: Value, args: Sequence[Value], kwargs: Mapping[str, Value] = NO_KEYWORDS) -> Value:
    """Call a function that was found in a class, or another value that can be called. Raises TypeError."""
    if type(function) is UserFunction:
        return invoke(function, args, kwargs, state.origin)
    if callable(function):
        return function(*args, **kwargs)
    method = special(function, "__call__")
    if method is None:
        raise not_callable(function)
    return method(*args, **kwargs)


def special(value: Value, name: str) -> Callable[..., Value] | None:
    """The special method `name` of an instance, bound; None for other values, and where its class has none."""
    if not isinstance(value, Instance):
        of_class = getattr(type(value), "special", None)
        return None if of_class is None else of_class(value, name)
    function = value.cls.find(name)
    if function is MISSING:
        native: Value = value.native(name)
        return None if native is MISSING else native
    if function is None:
        return None  # `__hash__ = None` takes the method away
    return lambda *args, **kwargs: run(function, (value, *args), kwargs)


def truth(value: Value) -> bool:
    """`bool(value)`. Raises TypeError where `__bool__` or `__len__` of the program return something else than they should."""
    if type(value) is Tensor:
        return core.truth(value)
    if type(value) in HOST_TYPES or isinstance(value, tuple | DictView):
        return bool(value)
    methods = getattr(type(value), "SCRIPT_METHODS", None)
    if methods is not None and "__len__" in methods and not isinstance(value, Instance):
        return bool(methods["__len__"](value))
    method = special(value, "__bool__")
    if method is not None:
        found = method()
        if type(found) is not bool:
            raise type_error("__bool__ should return bool, returned {}", found)
        return found
    method = special(value, "__len__")
    return True if method is None else length_from(method()) > 0


def length_from(found: Value) -> int:
    """What `__len__` returned, as a length. Raises TypeError, ValueError."""
    if type(found) not in (int, bool):
        raise not_an_integer(found)
    if found < 0:
        raise value_error("__len__() should return >= 0")
    if found >= 1 << 63:
        raise ProgramError("OverflowError", "cannot fit 'int' into an index-sized integer")
    return int(found)


class NotImplementedValue:
    """The type of `NotImplemented`: a special method does not know the other operand."""

    __slots__ = ()

    SCRIPT_NAME = "NotImplementedType"

    def __repr__(self) -> str:
        return "NotImplemented"


NOT_IMPLEMENTED = NotImplementedValue()
register(NotImplementedValue)

#: by comparison, the special method, and the comparison that the other operand is asked for
COMPARISONS = {
    "==": ("__eq__", "=="),
    "!=": ("__ne__", "!="),
    "<": ("__lt__", ">"),
    "<=": ("__le__", ">="),
    ">": ("__gt__", "<"),
    ">=": ("__ge__", "<="),
}
#: by operator, the name within the special methods
OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
    "divmod": "divmod",
}


def compare(symbol: str, a: Value, b: Value) -> Value:
    """`a symbol b` by special methods of either; MISSING if none answers."""
    name, swapped = COMPARISONS[symbol]
    sides = [(a, name, b), (b, COMPARISONS[swapped][0], a)]
    if _is_narrower(b, a):
        sides.reverse()
    for owner, method_name, other in sides:
        method = special(owner, method_name)
        if method is not None:
            found = method(other)
            if found is not NOT_IMPLEMENTED:
                return found
    if symbol == "!=":
        equal = compare("==", a, b)
        return MISSING if equal is MISSING else not truth(equal)
    return MISSING


def _is_narrower(b: Value, a: Value) -> bool:
    """Whether the class of `b` is a proper subclass of that of `a`: then Python asks `b` first."""
    return isinstance(a, Instance) and isinstance(b, Instance) and a.cls is not b.cls and a.cls in b.cls.mro


def operate(symbol: str, a: Value, b: Value, in_place: bool = False) -> Value:
    """`a symbol b`, or `a symbol= b`, by special methods of either; MISSING if none answers."""
    stem = OPERATORS[symbol]
    sides = [(a, f"__{stem}__", b), (b, f"__r{stem}__", a)]
    if _is_narrower(b, a) and a.cls.find(sides[1][1]) is not b.cls.find(sides[1][1]):
        sides.reverse()
    if in_place:
        sides.insert(0, (a, f"__i{stem}__", b))
    for owner, name, other in sides:
        method = special(owner, name)
        if method is not None:
            found = method(other)
            if found is not NOT_IMPLEMENTED:
                return found
    return MISSING


def hash_method(instance: Instance) -> Value:
    """`__hash__` of the class, or None for that of object. Raises TypeError where the class defines `__eq__` without `__hash__`."""
    for one in instance.cls.mro:
        fields = getattr(one, "fields", NO_KEYWORDS)
        if fields.get("__hash__") is not None:
            return fields["__hash__"]
        if "__hash__" in fields or "__eq__" in fields:
            raise type_error("unhashable type: '{}'", instance)
    if instance.UNHASHABLE:
        raise type_error("unhashable type: '{}'", instance)
    return None


def hash_of(instance: Instance) -> int:
    """`hash(instance)`. Raises TypeError where the class defines `__eq__` without `__hash__`."""
    method = hash_method(instance)
    if method is None:
        return object.__hash__(instance)
    found = run(method, (instance,))
    if type(found) not in (int, bool):
        raise type_error("__hash__ method should return an integer")
    return hash(found)
