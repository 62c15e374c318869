"""What is known of a function: signatures, grad_fn, formulas of the derivative, and an example that is run to be shown."""

from __future__ import annotations

from typing import Any

from gradcli.analysis.reference.run_examples import of_samples
from gradcli.analysis.reference.signatures import overloads
from gradcli.core.calling.script_types import Routine, ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, InplaceFunction, PythonMethod
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.prompt import completion
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import BoundMethod, Builtin
from gradcli.results.reference import Description


def describe(path: str, value: Any) -> Description | None:
    """What is known of the callable `value`, which the user calls `path`; None for what is no function or type."""
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


def summary(path: str, value: Any) -> str:
    """The same in one line, for menus: the first signature and the derivative for the first argument."""
    declared = _declared(value)
    if isinstance(declared, InplaceFunction):
        declared = declared.of
    if not isinstance(declared, Function):
        return ""
    name = path.rpartition(".")[2]
    formulas = _formulas(declared)
    derivative = f"   d/d {formulas[0][0]}: {formulas[0][1]}" if formulas else ""
    return overloads(name, declared, is_method=isinstance(value, BoundMethod))[0] + derivative


def _declared(value: Any) -> Any:
    """The declaration behind a bound method, or behind `sum` and its like, which are either torch's or Python's."""
    if isinstance(value, BoundMethod) and type(value.owner) is Tensor:
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
