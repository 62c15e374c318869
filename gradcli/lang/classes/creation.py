"""Making a class: its bases, the method resolution order, and what its body bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from gradcli import limits
from gradcli.core.calling.script_types import Scripted, ScriptType
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.exceptions import ErrorObject
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values import types
from gradcli.lang.values.object_operations import collect
from gradcli.lang.values.special_methods import Instance, run
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import (
    CallableObject,
    CallableSlottedObject,
    ClassMethod,
    Native,
    Property,
    SlottedObject,
    StaticMethod,
    UserClass,
    UserObject,
    may_be_base,
    private_name,
)
from gradcli.lang.values.value_classes import MISSING, ExceptionType, TypeValue, register

#: the bytes of a reference, and how many ancestors of a class count as a step of the program
_REFERENCE, _IN_A_STEP = 8, 16

#: by what a class of core says that it is a base of, the module whose `host_of` gives the class of instances
_EXTENSIONS = {
    "modules": "gradcli.lang.classes.modules",
    "functions": "gradcli.lang.classes.functions",
    "datasets": "gradcli.lang.classes.datasets",
    "dicts": "gradcli.lang.classes.dicts",
    "distributions": "gradcli.lang.classes.distributions",
    "pruning methods": "gradcli.lang.classes.pruning",
    "optimizers": "gradcli.lang.classes.optimizers",
    "schedulers": "gradcli.lang.classes.optimizers",
}


class AbstractMethod(Scripted):
    """`abstractmethod(function)`: a subclass has to define the method before it can have instances."""

    __slots__ = ("__weakref__", "function")

    SCRIPT_NAME = "function"

    def __init__(self, function: Value) -> None:
        self.function = function


register(AbstractMethod)


def make_class(
    name: str,
    qualified: str,
    bases: Sequence[Value],
    fields: dict[str, Value],
    annotations: Mapping[str, str],
    keywords: Mapping[str, Value],
) -> UserClass:
    """The class of a `class` statement whose body bound `fields`. Raises TypeError for bases and keywords that do not fit."""
    given = tuple(bases) or (types.OBJECT,)
    for base in given:
        if type(base) is UserClass and (mixed := base.trait("mixed")) is not MISSING:
            given = mixed(given)
    for base in given:
        _check_base(base)
    made = UserClass(name, qualified, given, {private_name(name, key): value for key, value in fields.items()})
    made.annotations = dict(annotations)
    made.mro = _linearise(made)
    _count(len(made.mro))
    made.native = _native(made)
    made.host = host_class(made)
    _note_abstract(made)
    made.host.prepare_class(made)
    prepare = made.trait("prepare")
    if prepare is not MISSING:
        prepare(made)
    _tell_base(made, {key: value for key, value in keywords.items() if key != "metaclass"})
    return made


def _check_base(base: Value) -> None:
    if base is types.OBJECT or may_be_base(base):
        return
    if type(base) in (TypeValue, ScriptType):
        raise ProgramError("TypeError", f"classes derived from {base.name} are not part of gradcli's language")
    raise ProgramError("TypeError", f"a base of a class must be a type, not '{type_name(base)}'")


# --- method resolution order ------------------------------------------------------------------------


def _mro_of(base: Value) -> tuple[Value, ...]:
    if type(base) is UserClass:
        return base.mro
    return (base,) if base is types.OBJECT else (*types.lineage(base), types.OBJECT)


def _linearise(made: UserClass) -> tuple[Value, ...]:
    """Python's C3 order: the class, then the orders of the bases merged. Raises TypeError where they contradict each other."""
    if len(made.bases) == 1:
        return (made, *_mro_of(made.bases[0]))
    if len(set(map(id, made.bases))) < len(made.bases):
        twice = next(base for at, base in enumerate(made.bases) if base in made.bases[:at])
        raise ProgramError("TypeError", f"duplicate base class {twice.name}")
    pending = [list(_mro_of(base)) for base in made.bases] + [list(made.bases)]
    order: list[Value] = [made]
    while any(pending):
        pending = [rest for rest in pending if rest]
        for rest in pending:
            head = rest[0]
            if not any(any(head is later for later in other[1:]) for other in pending):
                break
        else:
            names = ", ".join(base.name for base in made.bases)
            raise ProgramError("TypeError", f"Cannot create a consistent method resolution\norder (MRO) for bases {names}")
        order.append(head)
        for rest in pending:
            if rest[0] is head:
                del rest[0]
    return tuple(order)


def _count(ancestors: int) -> None:
    """Count the memory of a method resolution order, and the time that looking through it takes. Raises LimitError."""
    limits.memory.claim(_REFERENCE * ancestors)
    for _ in range(ancestors // _IN_A_STEP):
        limits.evaluation.tick()


def _native(made: UserClass) -> Native:
    """The native base of a class. Raises TypeError for two that do not go together."""
    natives = [base for base in made.mro if type(base) is not UserClass and base is not types.OBJECT]
    if not natives:
        return types.OBJECT
    for other in natives[1:]:
        if type(natives[0]) is type(other) is ExceptionType:
            continue
        if not types.is_below(natives[0], other):
            raise ProgramError("TypeError", "multiple bases have instance lay-out conflict")
    first: Native = natives[0]
    return first


def host_class(made: UserClass) -> type[Instance]:
    """The class of the Python objects that are the instances of a class."""
    native = made.native
    if isinstance(native, ScriptType | TypeValue) and native is not types.OBJECT:
        module = _EXTENSIONS[getattr(native.instances, "BASE_OF", "")]
        return import_module(module).host_of(native)  # type: ignore[no-any-return]
    if type(native) is ExceptionType:
        return ErrorObject
    calls = made.find("__call__") is not MISSING
    if "__slots__" in made.fields and _has_slots(made):
        return CallableSlottedObject if calls else SlottedObject
    return CallableObject if calls else UserObject


def _has_slots(made: UserClass) -> bool:
    """Whether instances have the attributes of `__slots__` alone, which are noted: every class of the mro has to name its own."""
    names: set[Value] = set()
    for one in made.mro:
        if type(one) is UserClass:
            given = one.fields.get("__slots__", ("__dict__",))
            for name in (given,) if type(given) is str else collect(given):
                if type(name) is not str:
                    raise type_error("__slots__ items must be strings, not '{}'", name)
                names.add(private_name(one.name, name))
    made.traits["slots"] = names
    return "__dict__" not in names


# --- what follows from the body ---------------------------------------------------------------------


def _note_abstract(made: UserClass) -> None:
    """Take the marks of abstract methods off; note the names that are still abstract in this class."""
    inherited = {name for base in made.bases if type(base) is UserClass for name in base.abstract}
    names = {name for name in inherited if name not in made.fields}
    for name, value in made.fields.items():
        bare, is_abstract = _without_mark(value)
        made.fields[name] = bare
        if is_abstract:
            names.add(name)
    made.abstract = frozenset(names)


def _without_mark(value: Value) -> tuple[Value, bool]:
    if type(value) is AbstractMethod:
        return value.function, True
    if type(value) is Property and type(value.fget) is AbstractMethod:
        return Property(value.fget.function, value.fset, value.fdel), True
    if type(value) in (StaticMethod, ClassMethod) and type(value.function) is AbstractMethod:
        return type(value)(value.function.function), True
    return value, False


def _tell_base(made: UserClass, keywords: dict[str, Value]) -> None:
    """Call `__init_subclass__` of the bases. Raises TypeError for keywords that no base takes."""
    told = made.find("__init_subclass__", after=made)
    if type(told) is ClassMethod:
        told = told.function
    if told is not MISSING:
        run(told, (made,), keywords)
    elif keywords:
        raise ProgramError("TypeError", f"{made.name}.__init_subclass__() takes no keyword arguments")
