"""`--by-rows`: a name stands for the rows of files that memory need not hold, for `grad` and `minimize`."""

# typer reads annotations at run time, so that they stay objects here

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from typer import Option

from gradcli.cli.clusters import Workers
from gradcli.errors import UsageError

if TYPE_CHECKING:
    from gradcli.cli.request import Request
    from gradcli.session.by_rows import ByRows, Evaluate


class RowOptions(Workers):
    """The name that is read by rows, and who evaluates."""

    by_rows: Annotated[
        str | None,
        Option("--by-rows", metavar="NAME", help="Read the files of NAME piece by piece: a sum or a mean over their rows."),
    ] = None
    serve_rows: Annotated[bool, Option("--serve-rows", hidden=True, help="Evaluate pieces that are asked for, for a cluster.")] = False

    def begin(self) -> None:
        """Check the options, before anything is loaded. Raises UsageError."""
        self.refuse_loose()
        if self.by_rows is not None:
            from gradcli.cli import row_workers

            row_workers.one_thread()
        elif self.on_cluster or self.jobs > 1:
            raise UsageError(f"{'--scheduler' if self.on_cluster else '--jobs'} needs --by-rows NAME, which says what is shared")


def prepared(request: "Request", options: RowOptions, names: Sequence[str] | None) -> "ByRows":
    """The expression over the rows of the files that the name stands for. Raises UsageError, DataError."""
    name = options.by_rows or ""
    binding = next(binding for binding in request.bindings if binding.name == name)
    value = binding.value
    if not value.startswith("@"):
        raise UsageError(f"--by-rows names {name!r}, whose rows are in no file", hints=[f"try {name}=@data.csv or {name}=@'rows-*.npy'"])
    if names is not None and name in names:
        raise UsageError(f"--wrt names {name!r}, whose rows are data")
    found = request.session.by_rows(request.expression, name, value, names, exact=binding.exact)
    request.inputs.extend(found.files)
    return found


@contextmanager
def evaluation(request: "Request", by_rows: "ByRows", options: RowOptions, command: str) -> Iterator["Evaluate"]:
    """Who evaluates the pieces: this process, forks, or a cluster. Raises DataError, UsageError."""
    by_rows.examine()
    if options.on_cluster:
        place = options.place()
        from gradcli.cluster.connection import connected
        from gradcli.cluster.rows import Dispatch

        words = [command, request.expression.text, *(binding.word for binding in request.bindings), "--serve-rows", *_repeated(request)]
        with connected(place) as client:
            yield Dispatch(client, words, by_rows).evaluate
    elif options.jobs > 1 and hasattr(os, "fork"):
        from gradcli.cli import row_workers

        with row_workers.forks(by_rows, options.jobs) as evaluate:
            yield evaluate
    else:
        yield by_rows.parts


def _repeated(request: "Request") -> list[str]:
    """The options that were given, but for those that say where the work is done and how the result is shown."""
    left_out = ("--jobs", "--scheduler", "--scheduler-file", "--tls-ca", "--tls-cert", "--tls-key", "-o", "--output", "-f", "--file")
    return [word for option in request.shared.given if option[0].partition("=")[0] not in left_out for word in option]


def serve(by_rows: "ByRows") -> int:
    """Evaluate what is asked on standard input, until it ends."""
    from gradcli.cli import guard
    from gradcli.session import row_messages

    guard.end_with(os.getppid())
    row_messages.write(1, row_messages.READY)
    row_messages.serve(by_rows, 0, 1)
    return 0
