"""`gradcli run`: scripts in PyTorch's spelling."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gradcli.cli.options import Shared

if TYPE_CHECKING:
    from gradcli.session import Session

EXAMPLES = """\
gradcli run tutorial.py
gradcli run prelude.py lesson.py --seed 0
echo 'print(torch.ones(2).sum())' | gradcli run -
gradcli run lesson.ipynb --cells
gradcli run setup.py -i"""

HELP = """Run scripts written for PyTorch, as they are. What they print goes to standard output, warnings and errors to standard error.

The files share one session, in order; each is parsed whole before it runs. - is standard input. Of notebooks (.ipynb) the code cells
run one after the other, and what a cell ends with is shown. IPython's own lines (%magic, !command) are left out. Figures of matplotlib's
pyplot are drawn into the terminal, or with --plots into files. torch.save and torch.load have the files of --files DIR.
"""

FORMATS = ("repr",)
WITHOUT = ("file", "json")


def command(
    words: Annotated[list[str] | None, typer.Argument(metavar="FILE...|-", hidden=True)] = None,
    *,
    interactive: Annotated[bool, typer.Option("-i", help="Stay at the prompt afterwards, with the names of the scripts.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="After an error go on with the next file; the exit code is that of the first error.")
    ] = False,
    plots: Annotated[
        str | None, typer.Option("--plots", metavar="DIR", help="Write the figures of matplotlib's pyplot into a folder.")
    ] = None,
    files: Annotated[
        str | None, typer.Option("--files", metavar="DIR", help="Let scripts save and load files of this folder, and of no other.")
    ] = None,
    cells: Annotated[bool, typer.Option("--cells", help="Number the cells of notebooks, and what they show.")] = False,
    shared: Shared,
) -> int:
    """Run the files in order."""
    scripts = words or []
    _check(scripts, interactive, shared)
    if interactive:
        from gradcli.cli import output

        if output.is_terminal(sys.stdin):
            return _run_and_stay(scripts, shared, keep_going, files)
        # standard input holds the inputs that would be typed
        scripts = [*scripts, "-"]
    return _run(scripts, shared, keep_going, cells, (plots, files))


def _check(files: list[str], interactive: bool, shared: Shared) -> None:
    """Raise UsageError for options that contradict each other."""
    from gradcli.errors import UsageError

    if shared.file is not None:
        raise UsageError("run takes its files as words, without -f")
    if not files:
        raise UsageError("a FILE is missing; - is standard input", hints=["try gradcli run tutorial.py"])
    if shared.json or shared.format not in (None, "repr"):
        raise UsageError("run prints what the scripts print: there is no other format")
    if files.count("-") + interactive > 1:
        raise UsageError("standard input can be used once only")
    if interactive and shared.path is not None:
        raise UsageError("-i and -o contradict each other")


def _run_notebook(session: Session, name: str, show: Callable[[str], None], cells: bool) -> None:
    """Run the code cells of a notebook; the value of a last expression is shown. With `cells` the cells and values are numbered."""
    from gradcli.data import notebooks
    from gradcli.source import Source

    for number, text in enumerate(notebooks.code_cells(session.read_source(name), name), 1):
        if cells:
            first = next((line for line in text.splitlines() if line.strip()), "")
            show(f"In [{number}]: {first}\n")
        shown = session.run_cell(Source(f"{name} cell {number}", text))
        if shown is not None:
            start = f"Out[{number}]: " if cells else ""
            show(f"{start}{chr(10) if start and chr(10) in shown else ''}{shown}\n")


def _run(files: list[str], shared: Shared, keep_going: bool, cells: bool, folders: tuple[str | None, str | None]) -> int:
    """Run the files; the exit code. With `-o` what they print goes to that file, when all have succeeded.

    `folders` are those for plots and for the files that scripts save.
    """
    from gradcli import data
    from gradcli.cli import guard, output
    from gradcli.cli.reporting import Reporter, exit_status
    from gradcli.cli.request import make_session
    from gradcli.errors import GradcliError
    from gradcli.source import Source

    read_stdin = data.stdin_reader(getattr(sys.stdin, "buffer", None), is_source=True)
    printed: list[str] = []
    show = output.program_writer() if shared.path is None else printed.append
    session = make_session(shared, read_stdin, show, plots=folders[0], files=folders[1])
    code = 0
    for name in files:
        try:
            if name.endswith(".ipynb"):
                _run_notebook(session, name, show, cells)
            else:
                session.run(Source("<stdin>" if name == "-" else name, session.read_source(name)))
        except GradcliError as error:
            status = exit_status(error)
            if status is None and not keep_going:
                raise
            shown = Reporter(shared.color, False, shared.debug).report(error) if status is None else status
            code = code or shown
            if code and not keep_going:
                break
    guard.finish()
    if shared.path is not None and not code:
        content = "".join(printed).encode("utf-8", "backslashreplace")
        output.write_file(shared.path, content, [name for name in files if name != "-"])
    return code


def _run_and_stay(files: list[str], shared: Shared, keep_going: bool, folder: str | None) -> int:
    """Run the files, then the prompt; after an error the prompt has what was there before the file that failed."""
    from gradcli.cli.commands import repl
    from gradcli.cli.reporting import Reporter
    from gradcli.errors import GradcliError
    from gradcli.repl import config

    settings = config.load()
    shared = repl.with_settings(shared, settings, script=True)
    screen = repl.make_screen(shared)
    session = repl.make_session(shared, screen, folder)
    prompt = repl.make_prompt(session, screen)
    for name in files:
        try:
            prompt.names.load(session.read_source(name), name)
        except GradcliError as error:
            Reporter(shared.color, False, shared.debug).report(error)
            if not keep_going:
                break
        else:
            prompt.inputs.append(name)
    return repl.interact(prompt, settings)
