"""How functions, methods, types and routines are called: names of parameters with their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from gradcli.core.calling.declared_arguments import DeclaredConstructor
from gradcli.core.calling.routines import Constructor, Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions.function import Function, PythonMethod


def signatures_of(name: str, value: object) -> tuple[str, ...]:
    """The calls of anything that stands in the reference as `name`; a constant has its name alone."""
    if isinstance(value, Function):
        return overloads(name, value, is_method=not value.is_function)
    if isinstance(value, PythonMethod):
        return (_call(name, value, 1),)
    if isinstance(value, ScriptType):
        return (name if value.construct is None else _call(name, value.construct, 1),)
    return (_call(name, value, 0) if isinstance(value, Routine) else name,)


def overloads(name: str, function: Function, *, is_method: bool) -> tuple[str, ...]:
    """Every overload as it is called, with defaults."""
    parsed = (function.method_parser if is_method else function.parser).signatures
    found: dict[str, None] = {}
    for signature in parsed:
        if signature.deprecated:
            continue
        parts: list[str] = []
        for parameter in signature.parameters:
            if parameter.name.startswith("_"):
                continue
            if parameter.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(f"{parameter.name}={parameter.default}" if parameter.has_default else parameter.name)
        found[f"{name}({', '.join(parts)})"] = None
    return tuple(found) or (f"{name}()",)


def _call(name: str, routine: Routine, skip: int) -> str:
    """The signature of a routine without its first `skip` parameters, with the defaults."""
    parts: list[str] = []
    if isinstance(routine, DeclaredConstructor):
        parameters = list(routine.signature().parameters.values())
    else:
        target: Callable[..., Any] = routine.made if isinstance(routine, Constructor) else routine.function
        signature = inspect.signature(inspect.getattr_static(target, "__init__") if isinstance(target, type) else target)
        parameters = list(signature.parameters.values())[skip if routine.positional else 0 :]
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        if parameter.name != "_":
            parts.append(f"{stars}{parameter.name}{default}")
    return f"{name}({', '.join(parts)})"


def _default(value: object) -> str:
    if value is None or isinstance(value, (bool, int, float, str, tuple, list)):
        return repr(value)
    return str(getattr(value, "name", "..."))
