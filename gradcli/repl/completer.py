"""Completion at the prompt: commands and their arguments after a colon, the language everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, PathCompleter
from prompt_toolkit.completion import Completion as Shown
from prompt_toolkit.document import Document

from gradcli.repl.commands import COMMANDS, Command, split
from gradcli.results.reference import Completion

Complete = Callable[[str], list[Completion]]


class PromptCompleter(Completer):
    """`complete` gives what may follow a piece of the language."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self._files = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Shown]:
        """What may follow the text before the cursor."""
        text = document.text_before_cursor
        if not text.lstrip().startswith(":"):
            yield from self._language(text.lstrip().removeprefix("?"))
            return
        name, blank, argument = split(text)
        if not blank:
            yield from (
                Shown(c.name, -len(name), display=f":{c.name}", display_meta=c.doc) for c in COMMANDS.values() if c.name.startswith(name)
            )
        elif name in COMMANDS:
            yield from self._argument(COMMANDS[name], argument, complete_event)

    def _language(self, text: str) -> Iterable[Shown]:
        for one in self._complete(text):
            yield Shown(one.text, -one.length, display_meta=one.about)

    def _argument(self, command: Command, argument: str, event: CompleteEvent) -> Iterable[Shown]:
        if command.completes == "value" and not argument:
            # only the variables: the language has too many names to list
            yield from (Shown(one.text, display_meta=one.about) for one in self._complete("") if one.kind == "variable")
        elif command.completes in ("expression", "value"):
            yield from self._language(argument)
        elif command.completes == "topic":
            yield from (Shown(c.name, -len(argument), display_meta=c.doc) for c in COMMANDS.values() if c.name.startswith(argument))
            yield from self._language(argument)
        elif command.completes == "file":
            yield from self._files.get_completions(Document(argument), event)
        elif command.completes == "binding":
            _, at, path = argument.partition("@")
            if at:
                yield from self._files.get_completions(Document(path), event)
        else:
            words = command.completes.split()
            before = argument.split(" ")[-1]
            position = argument.count(" ")
            for word in words:
                parts = word.split("=")
                first = argument.split(" ")[0]
                if position == 0 and parts[0].startswith(before):
                    yield Shown(parts[0], -len(before))
                elif position == 1 and parts[0] == first and len(parts) > 1:
                    yield from (Shown(choice, -len(before)) for choice in parts[1].split("|") if choice.startswith(before))
