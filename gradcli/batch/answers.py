"""Answers of a batch: one line of JSON for each request, all digits, nan and inf as strings."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from gradcli.batch.messages import Answer, Failure
from gradcli.batch.messages import Error as ErrorMessage
from gradcli.errors import GradcliError
from gradcli.render.diagnostic import error_object
from gradcli.render.json_text import dump, tensor
from gradcli.results import answers
from gradcli.results.derivatives import Derivatives
from gradcli.results.values import TensorValue


def answer_json(identity: object, line: int, found: answers.Answer) -> str:
    """The answer to the request of `line`, with the `id` that it came with."""
    made = Answer(id=identity, line=line, ok=True)
    if found.evaluation is not None:
        value = found.evaluation.value
        if "value" in found.want:
            described = tensor(value) if isinstance(value, TensorValue) else {"value": value.data, "type": value.type_name}
            for name, item in described.items():
                setattr(made, name, item)
        if "grad_fn" in found.want:
            made.grad_fn = found.evaluation.grad_fn
    if found.gradients is not None:
        made.grad = {name: None if gradient is None else gradient.tolist() for name, gradient in found.gradients.items()}
    if found.jacobian is not None:
        made.jacobian = {block.column: block.value.array.tolist() for block in found.jacobian.blocks}
    if found.hessian is not None:
        made.hessian = _squares(found.hessian)
    if found.output is not None:
        made.output = found.output
    if found.warnings:
        made.warnings = list(found.warnings)
    return _line(made)


def _squares(hessian: Derivatives) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for block in hessian.blocks:
        found.setdefault(block.row, {})[block.column] = block.value.array.tolist()
    return found


def failure_json(identity: object, line: int, error: GradcliError) -> str:
    """The answer to a line that failed."""
    return _line(Failure(id=identity, line=line, ok=False, error=msgspec.convert(error_object(error), ErrorMessage)))


def _line(message: Struct) -> str:
    """The message by json, which writes floats as Python does, and nothing but ASCII."""
    return dump(msgspec.to_builtins(message))
