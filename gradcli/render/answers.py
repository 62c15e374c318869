"""Answers of a batch: one line of JSON for each request, all digits, nan and inf as strings."""

from __future__ import annotations

from gradcli.errors import GradcliError
from gradcli.render.diagnostic import error_object
from gradcli.render.json_text import dump, tensor
from gradcli.results.answers import Answer
from gradcli.results.derivatives import Derivatives
from gradcli.results.values import TensorValue


def answer_json(identity: object, line: int, answer: Answer) -> str:
    """The answer to the request of `line`, with the `id` that it came with."""
    content: dict[str, object] = {"id": identity, "line": line, "ok": True}
    evaluation = answer.evaluation
    if evaluation is not None:
        value = evaluation.value
        if "value" in answer.want:
            content |= tensor(value) if isinstance(value, TensorValue) else {"value": value.data, "type": value.type_name}
        if "grad_fn" in answer.want:
            content["grad_fn"] = evaluation.grad_fn
    if answer.gradients is not None:
        content["grad"] = {
            row.name: None if row.gradients[0] is None else row.gradients[0].array.tolist() for row in answer.gradients.variables
        }
    if answer.jacobian is not None:
        content["jacobian"] = {block.column: block.value.array.tolist() for block in answer.jacobian.blocks}
    if answer.hessian is not None:
        content["hessian"] = _squares(answer.hessian)
    if answer.output is not None:
        content["output"] = answer.output
    if answer.warnings:
        content["warnings"] = answer.warnings
    return dump(content)


def _squares(hessian: Derivatives) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for block in hessian.blocks:
        found.setdefault(block.row, {})[block.column] = block.value.array.tolist()
    return found


def failure_json(identity: object, line: int, error: GradcliError) -> str:
    """The answer to a request that failed."""
    return dump({"id": identity, "line": line, "ok": False, "error": error_object(error)})
