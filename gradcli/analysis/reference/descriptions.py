"""What is known of a function: signatures, grad_fn, formulas of the derivative, and an example that is run to be shown."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradcli.core.autograd import backward
from gradcli.core.calling.script_types import PythonMethod, Routine, ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, InplaceFunction, Sample
from gradcli.core.ops.create.creation import from_data
from gradcli.core.random import seeds
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.transforms import jacobians
from gradcli.errors import GradcliError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.prompt import completion
from gradcli.lang.prompt.checkpoint import Checkpoint
from gradcli.lang.syntax import parser
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import BoundMethod, Builtin
from gradcli.results import Description
from gradcli.source import Source


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
    return signatures(name, declared, is_method=isinstance(value, BoundMethod))[0] + derivative


def _declared(value: Any) -> Any:
    """The declaration behind a bound method, or behind `sum` and its like, which are either torch's or Python's."""
    if isinstance(value, BoundMethod) and type(value.owner) is Tensor:
        return catalog.method(value.name)
    if isinstance(value, Builtin) and ONE_OFF.get(value.name) is value:
        return catalog.function(value.name)
    return value


def _function(path: str, function: Function, *, is_method: bool) -> Description:
    grad_fns = tuple(dict.fromkeys(op.grad_fn for op in function.ops))
    shown = signatures(path.rpartition(".")[2] if is_method else path, function, is_method=is_method)
    return Description(path, shown, function.doc, grad_fns, _formulas(function), run_example(function.samples))


def signatures(name: str, function: Function, *, is_method: bool) -> tuple[str, ...]:
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


def _formulas(function: Function) -> tuple[tuple[str, str, str], ...]:
    found: dict[tuple[str, str, str], None] = {}
    for op in function.ops:
        for argument, rule in op.rules.items():
            if rule is not None:
                found[argument, rule.formula, rule.note] = None
    return tuple(found)


# --- examples -------------------------------------------------------------------------------------


def run_example(samples: tuple[Sample, ...] | Any) -> tuple[tuple[str, str], ...]:
    """The first sample as a session: what is typed and what is printed; nothing of it stays."""
    for sample in samples:
        kept = Checkpoint({})
        try:
            return tuple(_run(sample))
        except GradcliError:
            continue
        finally:
            kept.restore()
    return ()


def _run(sample: Sample) -> list[tuple[str, str]]:
    state.enabled, state.inference = True, False
    dtypes.set_default(dtypes.float32)
    seeds.manual_seed(0)
    interpreter = Interpreter(write=_nothing, warn=_no_warning, one_off=True)
    lines: list[tuple[str, str]] = []
    for name, given in sample.inputs.items():
        leaf = from_data(np.asarray(given, np.float32).tolist(), dtypes.float32)
        leaf.requires_grad = True
        interpreter.set(name, leaf)
        text = interpreter.text(leaf).removeprefix("tensor(")
        lines.append((f"{name} = tensor({_one_line(text)}", ""))
    value = interpreter.evaluate(parser.parse_expression(Source("<example>", sample.text)))
    lines.append((sample.text, interpreter.text(value)))
    if type(value) is Tensor and value.requires_grad and sample.inputs:
        call = _scalar(sample.text, value, [interpreter.get(name) for name in sample.inputs])
        backward.backward([interpreter.evaluate(parser.parse_expression(Source("<example>", call)))], [None])
        lines.append((f"{call}.backward()", ""))
        lines += [(f"{name}.grad", interpreter.text(interpreter.get(name).grad)) for name in sample.inputs]
    return lines


def _scalar(text: str, value: Tensor, leaves: list[Tensor]) -> str:
    """The text of a number made of `value`: its sum, of squares where the sum itself does not depend on the leaves, as softmax's."""
    if value.array.size == 1:
        return text
    call = text if re.fullmatch(r"[\w.]+\([^()]*\)", text) else f"({text})"
    slopes = jacobians.vjp((value,), leaves, (ones_like(value),), retain_graph=True)
    vanishes = all(slope is None or np.abs(slope.array).max(initial=0.0) < 1e-5 for slope in slopes)
    return f"{call}.square().sum()" if vanishes else f"{call}.sum()"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _nothing(text: str) -> None:
    """Examples print nothing."""


def _no_warning(category: str, message: str, place: object) -> None:
    """Nor do they warn."""
