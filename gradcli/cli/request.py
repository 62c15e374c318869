"""From the words and options of a command to a session with its names bound, and from a result to its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from gradcli import data, limits
from gradcli.cli import arguments, guard, output
from gradcli.cli.arguments import Binding
from gradcli.cli.figures import Figures
from gradcli.cli.options import Differentiation, Shared
from gradcli.errors import UsageError
from gradcli.plain import Plain
from gradcli.render.look import PLAIN, Look
from gradcli.session import Outside, Session
from gradcli.source import Source, Span

#: commands that say of every name why it has no gradient
_TELLING = ("explain", "graph", "report")


class Request(Plain):
    """What a command works with: a session with all names bound, and the expression."""

    session: Session
    expression: Source
    bindings: list[Binding]
    shared: Shared
    inputs: list[str]
    #: names that are given and stand nowhere
    unused: list[str]

    def finish(self, text: str, *, safe: bool) -> int:
        """`text` to where it belongs; the exit code."""
        self._succeeded()
        limits.check_output(limits.encoded_size(text))
        if self.shared.path is None:
            output.write_stdout(text, safe=safe)
        else:
            output.write_file(self.shared.path, text.encode("utf-8", "backslashreplace"), self.inputs)
        return 0

    def finish_bytes(self, content: bytes) -> int:
        """`content`, which is no text, to where it belongs; the exit code. Raises UsageError where that is a terminal."""
        self._succeeded()
        limits.check_output(len(content))
        if self.shared.path is None:
            output.write_stdout_bytes(content)
        else:
            output.write_file(self.shared.path, content, self.inputs)
        return 0

    def _succeeded(self) -> None:
        guard.finish()
        if self.unused and not self.shared.quiet:
            output.warn(f"note: {' and '.join(self.unused)} {'is' if len(self.unused) == 1 else 'are'} given, but not used")

    @property
    def look(self) -> Look:
        """How the result is drawn: as standard output can show it, without colours and bounds in a file."""
        return output.look_of(sys.stdout, self.shared.color) if self.shared.path is None else PLAIN


def prepare(
    words: Sequence[str],
    command: str,
    shared: Shared,
    differentiation: Differentiation | None = None,
    write: Callable[[str], None] = output.write_stdout,
    *,
    ranges: bool = False,
    without: str | None = None,
) -> Request:
    """Make the session that `shared` asks for, read the expression, bind the names in order. `write` gets what programs print.

    With `ranges` LO..HI is a range for a plot, and no tensor of points. The name `without` is not bound.
    """
    text, bindings = arguments.split(words, command, has_file=shared.file is not None, given=shared.given)
    if without is not None and without not in [binding.name for binding in bindings]:
        raise UsageError(f"--by-rows names {without!r}, which is not given", hints=[f"try {without}=@data.csv"])
    read_stdin = data.stdin_reader(getattr(sys.stdin, "buffer", None), is_source=shared.file == "-")
    session = make_session(shared, read_stdin, write)
    if shared.file is not None:
        source = Source(shared.file, data.read_source(shared.file, read_stdin))
    else:
        source = Source("<expression>", text or "")
    for binding in bindings:
        if binding.name == without:
            continue
        if ranges and not binding.exact and session.bind_range(binding.name, binding.value):
            continue
        session.bind(binding.name, binding.value, exact=binding.exact)
    values = [binding.value for binding in bindings] + ((differentiation.vector or []) if differentiation else [])
    inputs = [value[1:].split(":")[0] for value in values if value.startswith("@")] + [shared.file or "-"]
    return Request(
        session,
        source,
        bindings,
        shared,
        [name for name in inputs if name != "-"],
        _unused(bindings, [source.text, *values]) if command not in _TELLING else [],
    )


def _unused(bindings: Sequence[Binding], texts: Sequence[str]) -> list[str]:
    """The names that stand in none of the texts, as mistyped ones do."""
    used = set(re.findall(r"\w+", " ".join(texts)))
    return [binding.name for binding in bindings if binding.name not in used]


def make_session(
    shared: Shared,
    read_stdin: data.ReadStdin,
    write: Callable[[str], None],
    *,
    interactive: bool = False,
    plots: str | None = None,
    files: str | None = None,
) -> Session:
    """The session that the options ask for; `write` gets what programs print, the folder `plots` the figures that they draw.

    In the folder `files` programs save and load.
    """
    bounds = limits.with_options(shared.limit or [], untrusted=shared.untrusted)
    guard.begin(bounds, interactive=interactive, coloured=output.use_colour(sys.stderr, shared.color))
    limits.use(bounds)  # for what happens outside of the session, such as writing results
    return Session(
        bounds=bounds,
        dtype=shared.dtype,
        seed=shared.seed,
        precision=shared.precision,
        write=write,
        warn=_ignore if shared.quiet else _warner(shared.color),
        read_stdin=read_stdin,
        tables=data.Form(shared.missing, shared.separator),
        outside=_outside(shared, bounds, plots, files),
    )


def _outside(shared: Shared, bounds: limits.Limits, plots: str | None, files: str | None) -> Outside:
    """Standard error, figures, files, and progress bars where it is a terminal. Text from strangers gets only the first: others load
    modules.
    """
    if bounds.untrusted:
        if files is not None:
            raise UsageError("--untrusted and --files contradict each other")
        return Outside(write_error=output.write_stderr)
    figures = Figures(plots, shared.color)
    bars = None
    if not shared.quiet and output.is_terminal(sys.stderr):
        from gradcli.cli.bars import Bars

        bars = Bars(shared.color)
    folder = None
    if files is not None:
        from gradcli.cli.saved_files import Folder

        folder = Folder(files)
    return Outside(write_error=output.write_stderr, progress=bars, draw=figures, files=folder)


def _warner(choice: str | None) -> Callable[[str, str, Span | None], None]:
    """A function that shows one warning on standard error, in colour as `--color` says."""

    def warn(category: str, message: str, span: Span | None) -> None:
        from gradcli.render.diagnostic import warning

        output.write_stderr(warning(category, message, span, output.look_of(sys.stderr, choice)))

    return warn


def _ignore(category: str, message: str, span: Span | None) -> None:
    """Warnings under -q."""


def check_names(names: Sequence[str] | None, bindings: Sequence[Binding]) -> None:
    """Refuse a `--wrt` that names what is not bound."""
    known = [binding.name for binding in bindings]
    for name in names or ():
        if name not in known:
            raise UsageError(f"--wrt names {name!r}, which is not given; there is {', '.join(known) or 'no NAME=VALUE'}")


def check_variables(request: Request) -> None:
    """Refuse a request without any variable to differentiate by."""
    if not request.session.variables:
        raise UsageError("there is nothing to differentiate by", hints=["NAME=VALUE makes a variable, as in x=3"])
