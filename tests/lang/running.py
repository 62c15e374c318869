"""Running programs of the language in tests."""

from __future__ import annotations

import re

from gradcli.errors import GradcliError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax.parser import parse_expression, parse_file, parse_input
from gradcli.source import Source, Span


class Session:
    """An interpreter that collects what it writes."""

    def __init__(self, one_off: bool = False) -> None:
        self.out: list[str] = []
        self.warnings: list[tuple[str, str]] = []
        self.interpreter = Interpreter(write=self.out.append, warn=self._warn, one_off=one_off)

    def _warn(self, category: str, message: str, span: Span | None) -> None:
        self.warnings.append((category, message))

    @property
    def text(self) -> str:
        return "".join(self.out)

    def run(self, text: str) -> str:
        """Run a file; returns all output so far."""
        self.interpreter.run(parse_file(Source("<test>", text)))
        return self.text

    def input(self, text: str) -> object:
        """Run an input of the prompt."""
        return self.interpreter.execute_input(parse_input(Source("<prompt>", text)))

    def evaluate(self, text: str) -> object:
        """Evaluate an expression."""
        return self.interpreter.evaluate(parse_expression(Source("<expression>", text)))


def output(text: str) -> str:
    """What a program prints."""
    return Session().run(text)


def failure(text: str) -> GradcliError:
    """The error that a program ends with."""
    try:
        Session().run(text)
    except GradcliError as error:
        return error
    raise AssertionError("the program did not fail")


def without_addresses(text: str) -> str:
    """`text` with all addresses alike."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)
