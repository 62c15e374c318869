"""`argparse`: options with defaults, as scripts declare them. A program has no command line, so that lists are parsed, or nothing."""

from __future__ import annotations

from collections.abc import Callable

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, script_type
from gradcli.core.calling.type_errors import type_error
from gradcli.errors import ProgramError
from gradcli.lang.classes.creation import make_class
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.calls import call
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.execution import emit_error
from gradcli.lang.values.object_operations import collect
from gradcli.lang.values.representation import repr_text, str_text
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.user_classes import NativeMethod, UserObject


def _fill(one: Value, **given: Value) -> None:
    for name in given:
        if name.startswith("__") and name.endswith("__"):
            raise ProgramError("AttributeError", f"names such as {name} cannot be assigned in gradcli's language")
    one.fields.update(given)


def _text(one: Value) -> str:
    return f"Namespace({', '.join(f'{name}={repr_text(value)}' for name, value in one.fields.items())})"


NAMESPACE = make_class(
    "Namespace",
    "Namespace",
    (),
    {
        "__init__": NativeMethod("__init__", _fill),
        "__repr__": NativeMethod("__repr__", _text),
        "__contains__": NativeMethod("__contains__", lambda one, name: name in one.fields),
    },
    {},
    {},
)

#: by `action`, what an option without a value stores
_CONSTANTS: dict[Value, Value] = {"store_true": True, "store_false": False}
_ACTIONS = ("store", "store_true", "store_false", "store_const", "append", "count")


class Argument(Scripted):
    """What `add_argument` declares. TypeError or ValueError for a declaration that does not fit."""

    __slots__ = ("__weakref__", "action", "choices", "const", "default", "dest", "flags", "nargs", "required", "type")

    SCRIPT_NAME = "_StoreAction"
    SCRIPT_ATTRIBUTES = {name: (lambda one, name=name: getattr(one, name)) for name in ("dest", "default", "const", "nargs")}  # type: ignore[misc]

    def __init__(self, flags: tuple[Value, ...], options: dict[str, Value]) -> None:
        for flag in flags:
            if type(flag) is not str:
                raise type_error("add_argument() takes names of options as str, not '{}'", flag)
        self.flags: tuple[str, ...] = tuple(flag for flag in flags if flag.startswith("-"))
        self.action: Value = options.pop("action", "store")
        if self.action not in _ACTIONS:
            raise ProgramError("ValueError", f'unknown action "{str_text(self.action)}"')
        long = [flag for flag in self.flags if flag.startswith("--")] or list(self.flags) or list(flags)
        self.dest: Value = options.pop("dest", None) or (long[0].lstrip("-").replace("-", "_") if long else None)
        if type(self.dest) is not str:
            raise ProgramError("TypeError", "add_argument() needs the name of an option")
        constant = _CONSTANTS.get(self.action)
        self.const: Value = options.pop("const", constant)
        self.default: Value = options.pop("default", None if constant is None else not constant)
        self.type: Value = options.pop("type", None)
        self.choices: Value = options.pop("choices", None)
        self.nargs: Value = options.pop("nargs", None)
        self.required: Value = options.pop("required", not self.flags and self.nargs not in ("?", "*"))
        for name in options:
            if name not in ("help", "metavar"):
                raise ProgramError("TypeError", f"add_argument() got an unexpected keyword argument '{name}'")

    @property
    def shown(self) -> str:
        """The name in messages."""
        return "/".join(self.flags) or str(self.dest)

    def value(self, texts: list[str], fail: Callable[[str], None]) -> Value:
        """What the texts of a command line mean."""
        found = [self._converted(text, fail) for text in texts]
        return found if self.nargs is not None and self.nargs != "?" else found[0]

    def _converted(self, text: str, fail: Callable[[str], None]) -> Value:
        if self.type is None:
            made: Value = text
        else:
            try:
                made = call(self.type, (text,), None)
            except ProgramError as error:
                if error.type_name not in ("TypeError", "ValueError"):
                    raise
                name = getattr(self.type, "name", None)
                fail(f"argument {self.shown}: invalid {name if type(name) is str else 'value'} value: {text!r}")
        if self.choices is not None and not any(equal(made, one) for one in collect(self.choices)):
            fail(
                f"argument {self.shown}: invalid choice: {repr_text(made)} (choose from {', '.join(map(repr_text, collect(self.choices)))})"
            )
        return made


class ArgumentParser(Scripted):
    """`ArgumentParser()`: the arguments that a program declares."""

    __slots__ = ("__weakref__", "arguments", "defaults", "prog")

    SCRIPT_NAME = "ArgumentParser"

    def __init__(
        self,
        prog: Value = None,
        usage: Value = None,
        description: Value = None,
        epilog: Value = None,
        formatter_class: Value = None,
        add_help: Value = True,
        allow_abbrev: Value = True,
    ) -> None:
        self.prog = prog if type(prog) is str else "-"
        self.arguments: list[Argument] = []
        self.defaults: dict[str, Value] = {}

    def add_argument(self, *flags: Value, **options: Value) -> Argument:
        """Declare an option, or an argument by position."""
        self.arguments.append(Argument(flags, options))
        return self.arguments[-1]

    def add_argument_group(self, *args: Value, **options: Value) -> ArgumentParser:
        """The parser itself: groups are for texts of help."""
        return self

    def set_defaults(self, **given: Value) -> None:
        """Set values of options that are not given."""
        self.defaults.update(given)

    def error(self, message: Value) -> None:
        """Write the message to standard error, and end the program with the status 2."""
        emit_error(f"{self.prog}: error: {str_text(message)}\n")
        raise ProgramError("SystemExit", "2", args=(2,))

    def parse_args(self, args: Value = None, namespace: Value = None) -> Value:
        """The values of all arguments for a list of texts, which is empty if none is given."""
        found, rest = self._parsed(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found

    def parse_known_args(self, args: Value = None, namespace: Value = None) -> tuple[Value, list[str]]:
        """As `parse_args`, but the texts that no argument takes are returned beside the values."""
        return self._parsed(args, namespace)

    def _parsed(self, args: Value, namespace: Value) -> tuple[Value, list[str]]:
        texts = [] if args is None else collect(args)
        if not all(type(text) is str for text in texts):
            raise ProgramError("TypeError", "parse_args() takes a list of str")
        found = namespace if isinstance(namespace, Instance) else UserObject.new(NAMESPACE, ())
        for one in self.arguments:
            found.fields.setdefault(one.dest, self.defaults.get(one.dest, one.default))
        for name, value in self.defaults.items():
            found.fields.setdefault(name, value)
        places = [one for one in self.arguments if not one.flags]
        seen: set[str] = set()
        rest: list[str] = []
        while texts:
            taken, words = self._next(texts, places)
            if taken is None:
                rest += words
                continue
            seen.add(taken.dest)
            self._store(found.fields, taken, words)
        lacking = [one.shown for one in self.arguments if one.required and one.dest not in seen]
        if lacking:
            self.error(f"the following arguments are required: {', '.join(lacking)}")
        return found, rest

    def _next(self, texts: list[str], places: list[Argument]) -> tuple[Argument | None, list[str]]:
        """The argument that the first texts belong to, with its words; they are taken off. None for a text that nobody takes."""
        word, sign, value = texts[0].partition("=")
        one: Argument | None = next((one for one in self.arguments if word in one.flags), None)
        if one is None and (texts[0][:1] == "-" or not places):
            return None, [texts.pop(0)]
        if one is None:
            one = places.pop(0)
        else:
            texts.pop(0)
            if sign:
                return one, [value]
        if one.action not in ("store", "append"):
            return one, []
        most = one.nargs if type(one.nargs) is int else 1 if one.nargs in (None, "?") else len(texts)
        words: list[str] = []
        while texts and len(words) < most and (texts[0][:1] != "-" or texts[0][1:2].isdigit()):
            words.append(texts.pop(0))
        if len(words) < (most if type(one.nargs) is int else one.nargs in (None, "+")):
            self.error(f"argument {one.shown}: expected {'at least one argument' if one.nargs == '+' else 'one argument'}")
        return one, words

    def _store(self, fields: dict[str, Value], one: Argument, words: list[str]) -> None:
        before = fields[one.dest]
        if one.action == "count":
            fields[one.dest] = (before or 0) + 1
        elif one.action not in ("store", "append") or (one.nargs == "?" and not words):
            fields[one.dest] = one.const
        elif one.action == "append":
            fields[one.dest] = [*(before or ()), one.value(words, self.error)]
        else:
            fields[one.dest] = one.value(words, self.error)

    SCRIPT_METHODS = {
        method.__name__: Routine(method, method.__name__, hide_first=True)
        for method in (add_argument, add_argument_group, set_defaults, error, parse_args, parse_known_args)
    }


MEMBERS: dict[str, Value] = {
    "ArgumentParser": script_type(ArgumentParser, "argparse"),
    "Namespace": NAMESPACE,
    # the layout of help, which is not shown
    **dict.fromkeys(("ArgumentDefaultsHelpFormatter", "RawTextHelpFormatter", "RawDescriptionHelpFormatter"), "formatter"),
}
