"""The generated index of nn, optim and utils.data."""

from __future__ import annotations

from gradcli.core.calling.script_types import ScriptType
from gradcli.core.vocabulary import library
from gradcli.core.vocabulary._index import DECLARED
from tools import make_library_index


def test_the_index_is_fresh() -> None:
    assert make_library_index.TARGET.read_text(encoding="utf-8") == make_library_index.index_text(), (
        "run python tools/make_library_index.py"
    )


def test_classes_are_found_in_the_modules_that_their_types_name() -> None:
    types = [kind for kind in map(library.find, DECLARED) if isinstance(kind, ScriptType)]
    assert len(types) > 200
    lost = [f"{kind.module}.{kind.name}" for kind in types if library.find(f"{kind.module}.{kind.name}".removeprefix("torch.")) is not kind]
    assert lost == []
    assert library.find("nn.modules.linear.Conv2d") is None and library.find("nn.modules.linear.nn") is None
