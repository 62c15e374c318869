"""Completion: names, attributes, arguments, commands and files; and the help of every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from gradcli.repl.commands import COMMANDS
from gradcli.repl.completer import PromptCompleter
from tests.repl.driving import Typist


def offered(typist: Typist, text: str) -> list[str]:
    completer = PromptCompleter(typist.prompt.names.complete)
    return [found.text for found in completer.get_completions(Document(text), CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("width", ["width"], ["wide"]),
        ("wi", ["width", "with"], []),
        ("sig", ["sigmoid"], []),
        ("x.requ", ["requires_grad", "requires_grad_"], []),
        ("x.grad", ["grad", "grad_fn"], []),
        ("x[0].su", ["sum", "sub"], []),
        ("(x * 2).me", ["mean"], []),
        ("x.exp().me", ["mean"], []),
        ("'a'.upp", ["upper"], []),
        ("names.app", ["append"], []),
        ("torch.nn.func", ["functional"], []),
        ("F.rel", ["relu"], []),
        ("x.sum(", ["dim=", "keepdim="], ["input="]),
        ("x.sum(dim=0, ", ["keepdim="], ["dim="]),
        ("sum(x, ke", ["keepdim="], []),
        ("torch.softmax(x, d", ["dim="], []),
        ("f(", ["first=", "second="], []),
        ("optim.SGD([x], l", ["lr="], []),
        ("from torch import n", ["nn"], []),
        ("import to", ["torch"], []),
        ("'sig", [], ["sigmoid"]),
        ("nothing.a", [], ["append"]),
        ("x._", [], ["__class__", "__dict__"]),
        (":s", ["seed", "set", "save"], []),
        (":set ", ["precision", "format"], []),
        (":set format ", ["repr", "table"], []),
        (":help un", ["undo"], []),
        (":grads wi", ["width"], []),
        (":time x.me", ["mean"], []),
        ("?sig", ["sigmoid"], []),
    ],
)
def test_what_is_offered(typist: Typist, text: str, wanted: list[str], unwanted: list[str]) -> None:
    typist.enter("width = 3", "x = ones(2)", "names = [1]", "def f(first, second=2):\n    return first\n")
    found = offered(typist, text)
    assert [one for one in wanted if one not in found] == []
    assert [one for one in unwanted if one in found] == []


def test_files_are_offered(typist: Typist, tmp_path: Path) -> None:
    (tmp_path / "lesson.py").write_text("", encoding="utf-8")
    for command in (":load ", ":save ", ":data x=@"):
        assert offered(typist, f"{command}{tmp_path}/les") == ["son.py"]


def test_completing_evaluates_nothing(typist: Typist) -> None:
    before = typist.enter("torch.get_rng_state().sum()")
    for text in ("randn(3).me", "print(1).", "(1/0).a", "randn(", "f(g(h("):
        offered(typist, text)
    assert typist.enter("torch.get_rng_state().sum()") == before


def test_every_command_has_help_and_an_example(typist: Typist) -> None:
    for command in COMMANDS.values():
        shown = typist.enter(f":help {command.name}")
        assert command.doc in shown and command.example in shown
        assert command.example.startswith(f":{command.name}")
