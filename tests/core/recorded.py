"""Scripts that PyTorch 2.13 ran, with what it printed: `differentiation_recorded.json`."""

from __future__ import annotations

import json
from pathlib import Path

from gradcli.core.vocabulary import settings
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_file
from gradcli.source import Source

_RECORDED = json.loads(Path(__file__).with_name("differentiation_recorded.json").read_text(encoding="utf-8"))


def check(name: str) -> None:
    """Run the script of that name and compare, line by line, with what PyTorch printed."""
    settings.reset()
    written: list[str] = []
    interpreter = Interpreter(write=written.append, warn=lambda *_: None)
    interpreter.run(parse_file(Source(f"<{name}>", "\n".join(_RECORDED[name]["source"]))))
    assert "".join(written).splitlines() == _RECORDED[name]["printed"]
