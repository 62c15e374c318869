"""What the tests of explanations, graphs and checks share."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.errors import GradcliError
from gradcli.results.explanations import Explanation
from gradcli.results.values import TensorValue
from gradcli.session import Session
from gradcli.source import Source


def session(variables: dict[str, str] | None = None, *, dtype: str | None = None) -> Session:
    """A session with names bound as `NAME=VALUE` binds them; a name that ends in a colon as `NAME:=VALUE` does."""
    made = Session(bounds=limits.default(), write=lambda _: None, warn=lambda *_: None, read_stdin=lambda: b"", dtype=dtype)
    for name, value in (variables or {}).items():
        made.bind(name.removesuffix(":"), value, exact=name.endswith(":"))
    return made


def explain(expression: str, variables: dict[str, str] | None = None, vector: str | None = None, **more: Any) -> Explanation:
    return session(variables).explain(Source("<expression>", expression), vector, **more)


def script(text: str, of: str, vector: str | None = None, **more: Any) -> Explanation:
    return session().explain(Source("lesson.py", text), vector, of=of, **more)


def rows(explanation: Explanation) -> dict[str, tuple[str, str]]:
    """Name -> expression, how the gradient came."""
    return {made.name: (step.expression, made.came) for step in explanation.steps for made in step.outputs}


#: what the two sides of an explained gradient are called when it is evaluated
_GRAD = re.compile(r"grad\((#?\w+)(\[\d+\])?\)")
_VALUE = re.compile(r"#(\d+)(?:\[(\d+)\])?")
_REMARK = re.compile(r", summed(?: over dims? [\d, ]+)?")


def recomputed(explanation: Explanation, name: str, constants: dict[str, str]) -> np.ndarray[Any, Any] | None:
    """The gradient of `name` by evaluating what the explanation says of it; None where it says it in words."""
    made = next(made for step in explanation.steps for made in step.outputs if made.name == name)
    if made.came.startswith(("start", "no gradient")) or made.gradient is None:
        return None
    double = any(made.value is not None and made.value.array.dtype == np.float64 for step in explanation.steps for made in step.outputs)
    one = session({f"{n}:": v for n, v in constants.items()}, dtype="float64" if double else None)
    variables: dict[str, str] = {}
    for other in explanation.steps:
        for output in other.outputs:
            word = output.name if other.is_leaf else "v" + output.name[1:].replace("[", "_").replace("]", "")
            if output.value is not None:
                variables[word] = _text(output.value.array)
            if output.gradient is not None:
                variables[f"g_{word}"] = _text(output.gradient.array)
    for word, text in variables.items():
        one.bind(word, text, exact=True)
    total: Any = 0.0
    text = _GRAD.sub(lambda m: f"g_{_word(m[1] + (m[2] or ''))}", made.came)
    text = _VALUE.sub(lambda m: _word(m[0]), text)
    try:
        for sign, part in _parts(text):
            value = one.evaluate(Source("<formula>", _REMARK.sub("", part))).value
            number = value.array if isinstance(value, TensorValue) else np.asarray(value.data)
            total = total + sign * _reduced(number, made.shape)
    except GradcliError:
        return None
    return np.broadcast_to(total, made.shape)


def _word(name: str) -> str:
    return "v" + name[1:].replace("[", "_").replace("]", "") if name.startswith("#") else name


def _text(array: np.ndarray[Any, Any]) -> str:
    data = re.sub(r"\b(nan|inf)\b", r"float('\1')", str(array.tolist()))
    return f"tensor({data}, dtype=torch.{array.dtype}).reshape({array.shape})"


def _parts(text: str) -> list[tuple[float, str]]:
    """The terms of a sum with their signs, if one of the terms has a remark; otherwise the whole text as one term."""
    parts = [""]
    depth = 0
    for word in re.split(r"( [+-] |[()\[\]])", text):
        depth += (word in ("(", "[")) - (word in (")", "]")) if word else 0
        parts += [word, ""] if word in (" + ", " - ") and not depth else []
        parts[-1] += "" if word in (" + ", " - ") and not depth else word
    if not any(part.startswith("(") and _REMARK.search(part) and part.endswith(")") for part in parts):
        return [(1.0, text)]
    signs = [1.0, *(-1.0 if sign == " - " else 1.0 for sign in parts[1::2])]
    return [(sign, part[1:-1] if _REMARK.search(part) else part) for sign, part in zip(signs, parts[::2], strict=True)]


def _reduced(value: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Undo broadcasting: sum an array to a shape."""
    lead = value.ndim - len(shape)
    if lead < 0:
        return value
    value = value.sum(axis=tuple(range(lead)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and value.shape[i] != 1)
    return value.sum(axis=axes, keepdims=True)
