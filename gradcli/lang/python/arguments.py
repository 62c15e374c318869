"""Checks of the arguments of built-in methods, with CPython's texts."""

from __future__ import annotations

from gradcli.lang.python.object_protocol import Value, type_error


def no_keywords(name: str, kwargs: dict[str, Value]) -> None:
    """Raise TypeError if there are keyword arguments; `name` is the method's full name, as in `list.append`."""
    if kwargs:
        raise type_error(f"{name}() takes no keyword arguments")


def none(name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
    """Raise TypeError if there are any arguments."""
    no_keywords(name, kwargs)
    if args:
        raise type_error(f"{name}() takes no arguments ({len(args)} given)")


def one(name: str, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
    """The only argument. Raises TypeError for any other number of arguments."""
    no_keywords(name, kwargs)
    if len(args) != 1:
        raise type_error(f"{name}() takes exactly one argument ({len(args)} given)")
    return args[0]


def between(name: str, args: tuple[Value, ...], kwargs: dict[str, Value], least: int, most: int) -> None:
    """Raise TypeError unless there are `least` to `most` arguments. As in CPython, the message leaves out the type's name."""
    no_keywords(name, kwargs)
    short = name.rpartition(".")[2]
    count = len(args)
    if least <= count <= most:
        return
    bound = least if count < least else most
    which = "" if least == most else "at least " if count < least else "at most "
    raise type_error(f"{short} expected {which}{bound} argument{'' if bound == 1 else 's'}, got {count}")
