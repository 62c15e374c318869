"""The commands of the prompt: one record each, from which help, completion and the dispatch are made."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from gradcli.errors import UsageError
from gradcli.render.explain import explanation_table
from gradcli.render.listing import description_text, nodes_table, variables_table
from gradcli.render.look import Look
from gradcli.render.reference import reference_text
from gradcli.render.tables import NAME, Cell, layout
from gradcli.repl import analyses
from gradcli.repl.files import refuse_untrusted
from gradcli.results.reference import Description, Entry

if TYPE_CHECKING:
    from gradcli.repl.loop import Prompt

_BINDING = re.compile(r"([A-Za-z_]\w*)\s*(:?=)\s*(.+)", re.S)
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")

KEYS = """\
  :help undo       a command with an example
  mean? or ?mean   signature, grad_fn, derivative and an example
  _                the last value; a line that begins with * / @ == ... works on it
  x;               no echo
  Tab              completion          Ctrl-R   search the history
  Ctrl-C           stop, clear line    Ctrl-D   leave
"""


class Leave(Exception):
    """`:quit`."""


@dataclass(slots=True, frozen=True)
class Command:
    """One command.

    `run` gets the prompt and what stands behind the name. `completes` says what that is: "topic", "expression", "file",
    "binding", or words, each with its choices behind `=`.
    """

    name: str
    arguments: str
    doc: str
    example: str
    run: Callable[[Prompt, str], None]
    completes: str = ""


def split(text: str) -> tuple[str, bool, str]:
    """The command's name, whether a blank follows, and the argument."""
    name, blank, argument = text.strip("\n").lstrip()[1:].partition(" ")
    return name, bool(blank), argument.lstrip()


def dispatch(prompt: Prompt, text: str) -> None:
    """Run the command line `text`, which begins with a colon. Raises UsageError and what commands raise."""
    name, _, argument = split(text)
    command = COMMANDS.get(_SHORT.get(name, name))
    if command is None:
        close = get_close_matches(name, COMMANDS)
        raise UsageError(f"no such command: :{name}", hints=[f"did you mean :{close[0]}?" if close else ":help lists the commands"])
    argument = argument.strip()
    if argument and not command.arguments:
        raise UsageError(f":{name} takes no argument")
    if not argument and command.arguments and not command.arguments.startswith("["):
        raise UsageError(f":{name} needs {command.arguments}", hints=[f"for example {command.example}"])
    command.run(prompt, argument)


def describe(prompt: Prompt, path: str) -> None:
    """`NAME?`: what is known of a name, or of a command. Raises UsageError, ProgramError."""
    if path.startswith(":") and path[1:] in COMMANDS:
        prompt.screen.show(_command_text(COMMANDS[path[1:]], prompt.screen.look()))
        return
    if not _PATH.fullmatch(path):
        raise UsageError("a question mark goes with a name", hints=["for example mean? or ?torch.nn.functional.relu"])
    found = prompt.names.describe(path)
    if isinstance(found, Entry):
        prompt.screen.show(reference_text((found,), prompt.screen.look()))
    elif isinstance(found, Description):
        prompt.screen.show(description_text(found, prompt.screen.look()))
    else:
        prompt.screen.show(variables_table((found,), prompt.screen.look()))


def _command_text(command: Command, look: Look) -> str:
    head = look.paint(f":{command.name} {command.arguments}".rstrip(), "heading")
    return f"{head}\n  {command.doc}\n  {look.paint('for example', 'dim')} {command.example}\n"


def _help(prompt: Prompt, argument: str) -> None:
    if argument:
        path = argument if argument.startswith(":") or argument not in COMMANDS else f":{argument}"
        describe(prompt, path)
        return
    rows: list[list[Cell]] = [[f":{c.name} {c.arguments}".rstrip(), c.doc] for c in COMMANDS.values()]
    prompt.screen.show(layout([NAME.replace(heading="command"), "what it does"], rows, prompt.screen.look()) + "\n" + KEYS)


def _vars(prompt: Prompt, argument: str) -> None:
    found = prompt.names.variables()
    if found:
        prompt.screen.show(variables_table(found, prompt.screen.look()))
    else:
        prompt.screen.show("no names yet\n")


def _grads(prompt: Prompt, argument: str) -> None:
    prompt.screen.show(nodes_table(prompt.names.gradients(argument), prompt.screen.look()))


def _explain(prompt: Prompt, argument: str) -> None:
    with prompt.names.untouched():
        told = prompt.session.explain(argument, summed=True)
    prompt.screen.show(explanation_table(told, prompt.screen.look()))


def _zero(prompt: Prompt, argument: str) -> None:
    found = prompt.names.zero()
    prompt.screen.show(f"grad is None now: {', '.join(found)}\n" if found else "no name has a grad\n")


def _reset(prompt: Prompt, argument: str) -> None:
    prompt.names.reset()
    prompt.format = "repr"
    prompt.screen.show("everything is as at the start; :undo brings it back\n")


def _undo(prompt: Prompt, argument: str) -> None:
    prompt.screen.result(prompt.names.undo() + "\n")


def _seed(prompt: Prompt, argument: str) -> None:
    if not re.fullmatch(r"-?[0-9]{1,20}", argument):
        raise UsageError(f":seed takes a whole number, not {argument!r}")
    prompt.names.setting(f"torch.manual_seed({int(argument)})")


def _set(prompt: Prompt, argument: str) -> None:
    name, _, value = argument.partition(" ")
    value = value.strip()
    if name == "precision" and re.fullmatch(r"[0-9]{1,2}", value):
        prompt.names.setting(f"torch.set_printoptions(precision={int(value)})")
    elif name == "format" and value in ("repr", "table"):
        prompt.format = value
    else:
        raise UsageError(f":set cannot set {argument!r}", hints=["it has: precision 0 to 99, format repr or table"])


def _load(prompt: Prompt, argument: str) -> None:
    refuse_untrusted(prompt, "load")
    path = os.path.expanduser(argument)
    text = prompt.session.read_source(path)
    prompt.names.load(text, path)
    prompt.inputs.append(path)


def _save(prompt: Prompt, argument: str) -> None:
    refuse_untrusted(prompt, "save")
    path = os.path.expanduser(argument)
    text = prompt.names.script()
    prompt.save(path, text.encode("utf-8", "backslashreplace"), prompt.inputs)
    prompt.screen.result(f"{path}: {text.count(chr(10))} lines\n")


def _data(prompt: Prompt, argument: str) -> None:
    match = _BINDING.fullmatch(argument)
    if match is None:
        raise UsageError(f":data takes NAME=@FILE, not {argument!r}")
    name, equals, value = match.groups()
    if value.startswith("@"):
        refuse_untrusted(prompt, "data")
        if value == "@-":
            raise UsageError("standard input is the terminal here")
        value = "@" + os.path.expanduser(value[1:])
    prompt.names.bound(name, lambda: prompt.session.bind(name, value, exact=equals == ":="))
    _vars_of(prompt, name)


def _vars_of(prompt: Prompt, name: str) -> None:
    found = tuple(v for v in prompt.names.variables() if v.name == name)
    prompt.screen.show(variables_table(found, prompt.screen.look()))


def _time(prompt: Prompt, argument: str) -> None:
    seconds, runs = prompt.names.timed(argument)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            prompt.screen.show(f"{seconds / size:.3g} {unit} (best of {runs:,})\n")
            return


def _history(prompt: Prompt, argument: str) -> None:
    found = [text for text in prompt.history() if argument in text]
    prompt.screen.result("".join(f"{text}\n" for text in found[-_MOST_HISTORY:]) or "no such input\n")


def _quit(prompt: Prompt, argument: str) -> None:
    raise Leave


#: inputs that `:history` shows
_MOST_HISTORY = 30
_SETTINGS = "precision format=repr|table"

_ALL = (
    Command("help", "[NAME]", "The commands; with a name, what is known of it.", ":help undo", _help, "topic"),
    Command("vars", "", "Every name: shape, dtype, grad_fn, value, grad.", ":vars", _vars),
    Command("grads", "[NAME]", "Every node of the graph behind a value, with its gradient.", ":grads y", _grads, "value"),
    Command("graph", "NAME [-o FILE]", "The graph behind a value, as a tree, or as SVG, DOT ...", ":graph y", analyses.graph, "value"),
    Command("explain", "NAME", "Every step behind a value, and how its gradient came.", ":explain y", _explain, "value"),
    Command("jacobian", "EXPR", "All first derivatives.", ":jacobian x**2", analyses.jacobian, "value"),
    Command("hessian", "EXPR", "All second derivatives of one number.", ":hessian (x**3).sum()", analyses.hessian, "value"),
    Command(
        "check", "EXPR", "The gradients by rule against differences, in float64.", ":check x.exp().sum()", analyses.check, "expression"
    ),
    Command(
        "minimize", "EXPR", "Where it is smallest, from the values of now.", ":minimize ((x-3)**2).sum()", analyses.minimize, "expression"
    ),
    Command("plot", "EXPR x=LO..HI [--grad]", "The curve over a range.", ":plot sin(x)*x x=-6..6 --grad", analyses.plot, "expression"),
    Command("report", "EXPR -o FILE", "A page that tells all of an expression.", ":report y -o page.html", analyses.report, "value"),
    Command("zero", "", "Set the grad of every named tensor to None.", ":zero", _zero),
    Command("reset", "", "Forget all names and settings.", ":reset", _reset),
    Command("undo", "", "Take the last input back, with all it changed.", ":undo", _undo),
    Command("seed", "N", "Seed the generator, as torch.manual_seed(N).", ":seed 0", _seed),
    Command("set", "NAME VALUE", "precision N (digits) or format repr|table.", ":set precision 8", _set, _SETTINGS),
    Command("data", "NAME=@FILE", "Bind a name to numbers from a CSV, npy or npz file.", ":data x=@data.csv:height", _data, "binding"),
    Command("load", "FILE", "Run a script here.", ":load tutorial.py", _load, "file"),
    Command("save", "FILE", "Write what succeeded as a script, for PyTorch too.", ":save session.py", _save, "file"),
    Command("time", "EXPR", "How long an expression takes; nothing of it stays.", ":time x.exp().sum()", _time, "expression"),
    Command("history", "[TEXT]", "The last inputs, or those with a text.", ":history exp", _history),
    Command("quit", "", "Leave; so do :q and Ctrl-D.", ":quit", _quit),
)

#: by name, in the order of `:help`
COMMANDS = {command.name: command for command in _ALL}
#: short names
_SHORT = {"q": "quit", "h": "help", "exit": "quit", "min": "minimize", "jac": "jacobian"}
