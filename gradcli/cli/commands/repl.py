"""`gradcli repl`: the interactive prompt; with standard input from elsewhere, a script."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli import output
from gradcli.cli.options import Shared

if TYPE_CHECKING:
    from gradcli.repl.config import Config
    from gradcli.repl.loop import Prompt
    from gradcli.repl.screen import Screen
    from gradcli.session import Session

EXAMPLES = """\
gradcli
gradcli repl tutorial.py
gradcli repl --vi --precision 8
echo 'print(torch.ones(2))' | gradcli"""

HELP = """The prompt: type expressions and statements, see values, gradients and graphs.

FILE is run first, and its names stay. :help lists the prompt's own commands. Where standard input is no terminal, it is run as
a script. History is kept in the user's directory for state, or in $GRADCLI_STATE_DIR.
"""

FORMATS = ("repr", "table")
WITHOUT = ("file", "output")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="[FILE]", hidden=True)] = None,
    vi: Annotated[bool, typer.Option("--vi", help="The keys of vi.")] = False,
    emacs: Annotated[bool, typer.Option("--emacs", help="The keys of Emacs, unless you configure others.")] = False,
    *,
    shared: Shared,
) -> int:
    """Run the prompt."""
    from gradcli.errors import UsageError
    from gradcli.repl import config

    format_ = shared.chosen_format("repr", FORMATS)
    if shared.file or shared.output:
        raise UsageError(f"gradcli repl takes no {'-f' if shared.file else '-o'}", hints=["try :load FILE or :save FILE at the prompt"])
    files = words or []
    if len(files) > 1:
        raise UsageError("gradcli repl takes one file at most", hints=["try :load FILE at the prompt for more"])
    if not output.is_terminal(sys.stdin):
        return _script(files, shared)
    settings = config.load()
    if vi and emacs:
        raise UsageError("--vi and --emacs contradict each other")
    keys = "vi" if vi else "emacs" if emacs else None
    if shared.format is None and not shared.json:
        format_ = str(settings["format"])
    shared = with_settings(shared, settings)
    screen = make_screen(shared)
    session = make_session(shared, screen)
    prompt = make_prompt(session, screen)
    prompt.format = format_
    for path in files:
        prompt.names.load(session.read_source(path), path)
        prompt.inputs.append(path)
    return interact(prompt, settings, keys)


def with_settings(shared: Shared, settings: Config, *, script: bool = False) -> Shared:
    """The options, with the user's settings for those that were not given.

    Beside a `script` these are colours alone: the others would change what it prints.
    """
    chosen: dict[str, object] = {} if shared.color else {"color": settings["color"]}
    if not script:
        chosen |= {name: settings[name] for name in ("precision", "dtype") if getattr(shared, name) is None and name in settings.found}
    return shared.replace(**chosen)


def make_screen(shared: Shared) -> Screen:
    """Standard output and standard error for a prompt."""
    from gradcli.repl.screen import Screen

    return Screen(
        raw=output.write_stdout,
        safe=lambda text: output.write_stdout(text, safe=True),
        error=output.write_stderr,
        look=lambda: output.look_of(sys.stdout, shared.color),
    )


def make_session(shared: Shared, screen: Screen, files: str | None = None) -> Session:
    """The session that the options ask for; what its programs print goes to `screen`, and in the folder `files` they save and load."""
    from gradcli import data
    from gradcli.cli import request

    # standard input is the terminal, from which only inputs are read
    return request.make_session(shared, data.stdin_reader(None), screen.program, interactive=True, files=files)


def interact(prompt: Prompt, settings: Config, keys: str | None = None) -> int:
    """Read from the terminal until the user leaves; the exit code. `keys` are "vi" or "emacs", None for those of the settings."""
    from gradcli.repl.history import HistoryFile, default_path
    from gradcli.repl.plain import PlainReader

    history = HistoryFile(default_path(), _warn, int(str(settings["history"])))
    prompt.history = history.load
    if os.environ.get("TERM") == "dumb" or not output.is_terminal(sys.stdout):
        return prompt.run(PlainReader(history, prompt.names.is_complete))
    from gradcli.repl.editor import Behaviour, Editor

    behaviour = Behaviour(prompt.names.is_complete, prompt.names.complete, prompt.preview, prompt.names.signature)
    editor = Editor(history, behaviour, vi=(keys or settings["keys"]) == "vi", colour=prompt.screen.look().colour)
    prompt.screen.show("gradcli: PyTorch's gradients. :help for the commands, Ctrl-D leaves.\n")
    return prompt.run(editor)


def make_prompt(session: Session, screen: Screen) -> Prompt:
    """A prompt over the names that `session` has."""
    from gradcli.repl.loop import Prompt

    return Prompt(session, screen, output.write_file)


def _script(files: list[str], shared: Shared) -> int:
    """FILE, then standard input, as scripts; where standard input is one expression, its value is shown."""
    from gradcli import data
    from gradcli.cli.reporting import exit_status
    from gradcli.cli.request import make_session
    from gradcli.errors import GradcliError, LanguageError
    from gradcli.render.plain import evaluation_repr
    from gradcli.results.values import PlainValue
    from gradcli.source import Source

    session = make_session(shared, data.stdin_reader(getattr(sys.stdin, "buffer", None)), output.write_stdout)
    try:
        for path in files:
            session.run(Source(path, session.read_source(path)))
        source = Source("<stdin>", session.read_source("-"))
        try:
            found = session.evaluate(source)
        except LanguageError:
            session.run(source)
            return 0
    except GradcliError as error:
        status = exit_status(error)
        if status is None:
            raise
        return status
    if found.value != PlainValue(None, "NoneType", "None"):
        output.write_stdout(evaluation_repr(found))
    return 0


def _warn(text: str) -> None:
    output.write_stderr(f"{text}\n")
