"""Descriptions of functions and types that the user has bound, and one-line summaries for completion."""

from __future__ import annotations

from typing import Any

from gradcli.analysis.reference.run_examples import of_samples
from gradcli.analysis.reference.signatures import overloads
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import METHODS
from gradcli.core.functions.function import Function, InplaceFunction, PythonMethod
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.prompt import completion
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import BoundMethod, Builtin
from gradcli.results.reference import Description


def describe(path: str, value: object) -> Description | None:
    """The description of a function or a type that the user calls `path`, with its example; None for another value."""
    declared = _declared(value)
    if isinstance(declared, InplaceFunction):
        declared = declared.of
    if isinstance(declared, Function):
        return _function(path, declared, is_method=isinstance(value, BoundMethod))
    if isinstance(declared, (PythonMethod, Routine, ScriptType, UserFunction, Builtin)):
        doc = declared.doc if isinstance(declared, PythonMethod) else "Python's own function." if isinstance(declared, Builtin) else ""
        names = completion.keyword_names(value)
        return Description(path, (f"{path}({', '.join(names)})",), doc, (), (), ())
    return None


def summary(path: str, value: object) -> str:
    """A line about a function of tensors: its first signature, and its derivative by the first argument; "" for other values."""
    declared = _declared(value)
    if isinstance(declared, InplaceFunction):
        declared = declared.of
    if not isinstance(declared, Function):
        return ""
    name = path.rpartition(".")[2]
    formulas = _formulas(declared)
    derivative = f"   d/d {formulas[0][0]}: {formulas[0][1]}" if formulas else ""
    return overloads(name, declared, is_method=isinstance(value, BoundMethod))[0] + derivative


def _declared(value: object) -> Any:
    """The declaration behind a bound method, or behind a name such as `sum`, which is torch's or Python's."""
    if isinstance(value, BoundMethod) and type(value.owner) is Tensor and value.name in METHODS:
        return catalog.method(value.name)
    if isinstance(value, Builtin) and ONE_OFF.get(value.name) is value:
        return catalog.function(value.name)
    return value


def _function(path: str, function: Function, *, is_method: bool) -> Description:
    grad_fns = tuple(dict.fromkeys(op.grad_fn for op in function.ops))
    shown = overloads(path.rpartition(".")[2] if is_method else path, function, is_method=is_method)
    return Description(path, shown, function.doc, grad_fns, _formulas(function), of_samples(function.samples))


def _formulas(function: Function) -> tuple[tuple[str, str, str], ...]:
    found: dict[tuple[str, str, str], None] = {}
    for op in function.ops:
        for argument, rule in op.rules.items():
            if rule is not None:
                found[argument, rule.formula, rule.note] = None
    return tuple(found)
