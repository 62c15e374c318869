"""Functions that programs define: their compiled code, Python's binding of arguments to parameters, and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradcli.core.calling.routines import listed
from gradcli.core.tensor.state import state
from gradcli.errors import GradcliError, ProgramError
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.syntax.nodes import Node
from gradcli.lang.values.execution import execution, locate, tick, too_deep
from gradcli.lang.values.value_classes import MISSING, UNBOUND, register


class Code:
    """The compiled code of a `def` or `lambda`.

    The slots of its frame: globals, positional parameters, keyword-only parameters, `*`, `**`, other locals, cells.
    """

    __slots__ = (
        "annotations",
        "cell_slots",
        "counting",
        "doc",
        "double_star",
        "generates",
        "keyword_only",
        "locals",
        "places",
        "name",
        "positional",
        "qualified",
        "run",
        "simple",
        "star",
    )

    def __init__(
        self,
        name: str,
        positional: tuple[str, ...],
        keyword_only: tuple[str, ...],
        star: str | None,
        double_star: str | None,
        only_positional: int = 0,
    ) -> None:
        self.name = name
        #: the name with the functions around it, for messages: `outer.<locals>.inner`
        self.qualified = name
        self.positional = positional
        self.keyword_only = keyword_only
        #: by name, the index of each parameter that may be given by name
        self.places = {parameter: at for at, parameter in enumerate(positional + keyword_only) if at >= only_positional}
        self.star = star
        self.double_star = double_star
        #: the number of parameters where all are positional; else -1
        self.simple = len(positional) if not keyword_only and star is None and double_star is None else -1
        #: how many locals follow the parameters
        self.locals = 0
        #: the slots of parameters and locals that inner functions share
        self.cell_slots: tuple[int, ...] = ()
        self.run: Callable[[Value], Value] = lambda frame: None
        self.counting = False
        #: `__doc__`
        self.doc: str | None = None
        #: by parameter, and as "return", the texts of annotations
        self.annotations: dict[str, str] = {}
        #: whether it yields: a call makes a generator
        self.generates = False


class UserFunction:
    """A function that the program defines. Core calls it like any Python function."""

    __slots__ = ("__weakref__", "cells", "code", "defaults", "fields", "keyword_defaults", "shown", "tail", "variables")

    SCRIPT_NAME = "function"

    def __init__(
        self,
        code: Code,
        variables: dict[str, Value],
        defaults: tuple[Value, ...],
        keyword_defaults: dict[str, Value],
        cells: tuple[Value, ...],
    ) -> None:
        self.code = code
        self.variables = variables
        self.defaults = defaults
        self.keyword_defaults = keyword_defaults
        self.cells = cells
        #: `__name__`, and the name that the repr shows, where `functools.wraps` has given others
        self.shown: tuple[str, str] | None = None
        #: attributes that the program has given it; None before the first
        self.fields: dict[str, Value] | None = None
        #: the slots that follow the parameters in a new frame
        self.tail = (UNBOUND,) * code.locals + cells

    @property
    def name(self) -> str:
        """`__name__`."""
        return self.code.name if self.shown is None else self.shown[0]

    def __call__(self, /, *args: Value, **kwargs: Value) -> Value:
        return invoke(self, args, kwargs, state.origin)

    def read(self, name: str, default: Value) -> Value:
        """An attribute that the program has given the function, or one that Python gives every function."""
        if self.fields is not None and name in self.fields:
            return self.fields[name]
        if name == "__qualname__":
            return self.code.qualified if self.shown is None else self.shown[1]
        return self.code.doc if name == "__doc__" else default

    def write(self, name: str, value: Value) -> None:
        """Give the function an attribute."""
        if self.fields is None:
            self.fields = {}
        self.fields[name] = value

    def remove(self, name: str) -> bool:
        """Delete an attribute; False if there is none."""
        return self.fields is not None and self.fields.pop(name, MISSING) is not MISSING

    SCRIPT_METHODS = {"__getattr__": read, "__setattr__": write, "__delattr__": remove}


register(UserFunction)


def invoke(function: UserFunction, args: Sequence[Value], kwargs: Mapping[str, Value], place: object) -> Value:
    """Call a function; `place` is the syntax node of the call, which the chain of calls of an error names."""
    code = function.code
    if len(args) == code.simple and not kwargs:
        frame = [function.variables, *args, *function.tail]
    elif 0 < code.simple - len(args) <= len(function.defaults) and not kwargs:
        frame = [function.variables, *args, *function.defaults[len(args) - code.simple :], *function.tail]
    else:
        state.origin = place
        frame = [function.variables, *bind(function, args, kwargs), *function.tail]
    for slot in code.cell_slots:
        frame[slot] = [frame[slot]]
    if code.counting:
        tick()
    execution.depth += 1
    try:
        if execution.depth > execution.max_depth:
            state.origin = place
            raise too_deep()
        return code.run(frame)
    except GradcliError as error:
        if error.span is None:
            locate(error)
        if isinstance(place, Node):
            error.calls.append((place.span, code.name))  # innermost first; the interpreter reverses the list
        raise
    finally:
        execution.depth -= 1


def bind(function: UserFunction, args: Sequence[Value], kwargs: Mapping[str, Value]) -> list[Value]:
    """The values of the parameters in the order of their slots. Raises TypeError with Python's texts."""
    code = function.code
    count = len(code.positional)
    values: list[Value] = list(args[:count])
    values += [MISSING] * (count - len(values))
    values += [MISSING] * len(code.keyword_only)
    more = _bind_keywords(code, values, kwargs)
    if len(args) > count and code.star is None:
        raise _too_many(function, len(args), values)
    _fill_defaults(function, values)
    if code.star is not None:
        values.append(tuple(args[count:]))
    if code.double_star is not None:
        values.append(more)
    return values


def _bind_keywords(code: Code, values: list[Value], kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """Put keyword arguments into `values`; returns those that `**` takes. Raises TypeError."""
    more: dict[str, Value] = {}
    for name, value in kwargs.items():
        at = code.places.get(name)
        if at is not None:
            if values[at] is not MISSING:
                raise ProgramError("TypeError", f"{code.qualified}() got multiple values for argument '{name}'")
            values[at] = value
        elif code.double_star is not None:
            more[name] = value
        elif name in code.positional:
            wrong = ", ".join(n for n in kwargs if n in code.positional and n not in code.places)
            text = f"{code.qualified}() got some positional-only arguments passed as keyword arguments: '{wrong}'"
            raise ProgramError("TypeError", text)
        else:
            raise ProgramError("TypeError", f"{code.qualified}() got an unexpected keyword argument '{name}'")
    return more


def _fill_defaults(function: UserFunction, values: list[Value]) -> None:
    code = function.code
    count = len(code.positional)
    first_default = count - len(function.defaults)
    missing: list[str] = []
    for at in range(count):
        if values[at] is MISSING:
            if at >= first_default:
                values[at] = function.defaults[at - first_default]
            else:
                missing.append(code.positional[at])
    if missing:
        raise _missing(code.qualified, missing, "positional")
    for at, name in enumerate(code.keyword_only, count):
        if values[at] is MISSING:
            values[at] = function.keyword_defaults.get(name, MISSING)
            if values[at] is MISSING:
                missing.append(name)
    if missing:
        raise _missing(code.qualified, missing, "keyword-only")


def _missing(name: str, missing: list[str], kind: str) -> ProgramError:
    plural = "" if len(missing) == 1 else "s"
    return ProgramError("TypeError", f"{name}() missing {len(missing)} required {kind} argument{plural}: {listed(missing)}")


def _too_many(function: UserFunction, given: int, values: list[Value]) -> ProgramError:
    code = function.code
    most = len(code.positional)
    least = most - len(function.defaults)
    takes = f"from {least} to {most}" if least != most else str(most)
    plural = "" if most == 1 and least == most else "s"
    extra = sum(value is not MISSING for value in values[most:])
    if extra:
        positional = f"{given} positional argument{'' if given == 1 else 's'}"
        were = f"{positional} (and {extra} keyword-only argument{'' if extra == 1 else 's'}) were given"
    else:
        were = f"{given} {'was' if given == 1 else 'were'} given"
    return ProgramError("TypeError", f"{code.qualified}() takes {takes} positional argument{plural} but {were}")


def arguments_of(function: UserFunction, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """`inspect.signature(function).bind(*args, **kwargs).arguments`: what is given, by parameter. Raises TypeError with its texts."""
    code = function.code
    count = len(code.positional)
    if len(args) > count and code.star is None:
        raise ProgramError("TypeError", "too many positional arguments")
    given = dict(zip(code.positional, args, strict=False))
    more = dict(kwargs)
    for name in code.positional[len(args) :] + code.keyword_only:
        if name in more and name in code.places:
            given[name] = more.pop(name)
        elif name in more and code.double_star is None:
            raise ProgramError("TypeError", f"'{name}' parameter is positional only, but was passed as a keyword")
        elif default_of(function, name) is MISSING:
            raise ProgramError("TypeError", f"missing a required argument: '{name}'")
    if code.star is not None and len(args) > count:
        given[code.star] = tuple(args[count:])
    for name in more:
        if name in given:
            raise ProgramError("TypeError", f"multiple values for argument '{name}'")
        if code.double_star is None:
            raise ProgramError("TypeError", f"got an unexpected keyword argument '{name}'")
    if more and code.double_star is not None:
        given[code.double_star] = more
    return given


def default_of(function: UserFunction, name: str) -> Value:
    """The default of a parameter, or MISSING."""
    code = function.code
    if name in code.keyword_only:
        return function.keyword_defaults.get(name, MISSING)
    at = code.positional.index(name) - len(code.positional) + len(function.defaults)
    return function.defaults[at] if at >= 0 else MISSING
