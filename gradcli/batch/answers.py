"""Answers of a batch: one line of JSON for each request, all digits, nan and inf as strings."""

from __future__ import annotations

import msgspec

from gradcli.batch.messages import Error, Failure
from gradcli.batch.requests import Content
from gradcli.errors import GradcliError
from gradcli.render.diagnostic import error_object
from gradcli.render.json_text import dump


def answer_json(identity: object, line: int, found: Content) -> str:
    """The answer to the request of `line`, with the `id` that it came with."""
    return dump({"id": identity, "line": line, "ok": True, **found})


def failure_json(identity: object, line: int, error: GradcliError) -> str:
    """The answer to a line that failed."""
    return dump(msgspec.to_builtins(Failure(id=identity, line=line, ok=False, error=msgspec.convert(error_object(error), Error))))
