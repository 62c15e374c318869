"""Repairs of expressions that ended with an error: those of long texts, which would take long, are not looked for."""

from __future__ import annotations

import pytest

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.session import Session
from gradcli.source import Source


@pytest.mark.parametrize(("text", "any_found"), [("torch.relux(1)", True), ("torch.relux(1)" + "+torch.relux(1)" * 100, False)])
def test_repairs_of_a_long_text_are_not_looked_for(text: str, any_found: bool) -> None:
    session = Session(bounds=limits.strict(), write=lambda _: None, warn=lambda *_: None, read_stdin=bytes)
    with pytest.raises(ProgramError) as caught:
        session.evaluate(Source("<expression>", text))
    assert bool(caught.value.repairs) is any_found
