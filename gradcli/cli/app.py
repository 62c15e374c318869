"""The entry point: finds the command, runs it, and turns every error into one message and an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from types import FrameType

import typer

from gradcli.cli import guard, output
from gradcli.cli.group import make_group
from gradcli.cli.reporting import reporter
from gradcli.errors import DataError, GradcliError, InternalFault, LimitError, UsageError


class Terminated(BaseException):
    """A signal has arrived that ends a process: the stack is unwound, so that temporary files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def main() -> None:
    """The console script."""
    guard.own_process = True
    guard.prepare_signals(_terminate)
    if "_GRADCLI_COMPLETE" in os.environ:
        from gradcli.cli.completion import shells

        shells.answer(os.environ, sys.argv[1:])
        return
    sys.exit(run(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)


def run(words: Sequence[str]) -> int:
    """Run one command line in this process; the exit code."""
    output.prepare_streams()
    try:
        try:
            return _dispatch(list(words) or ["repl"])
        except (GradcliError, typer.TyperException, OSError, ImportError, MemoryError, RecursionError) as error:
            guard.finish()
            ours = _as_ours(error)
            if ours.repairs:
                from gradcli.cli import ways_out

                ways_out.tell(ours, list(words), _attempt)
            return reporter(words).report(ours)
        except Exception as error:
            guard.finish()
            fault = InternalFault(f"{type(error).__name__}: {error}", hints=["this is a fault of gradcli; --debug shows where it happened"])
            fault.__cause__ = error
            return reporter(words).report(fault)
    except GradcliError as error:
        # the alarm may go off while another error is being handled; it does so once, and not after a report has begun
        guard.finish()
        return reporter(words).report(error)
    except (ImportError, MemoryError):
        output.write_stderr("LimitError: there is not enough memory to report an error\n")
        return 5
    except (output.Stop, guard.Ended) as stop:
        return stop.code
    except KeyboardInterrupt:
        return 130
    except Terminated as signalled:
        return signalled.code


def _attempt(words: list[str]) -> GradcliError | int:
    """Run a command line for nothing but the error that it ends with, or its exit code."""
    from gradcli import data  # this loads numpy, which is loaded already where there is such an error

    own, guard.own_process = guard.own_process, False
    stdin = sys.stdin
    try:
        sys.stdin = io.TextIOWrapper(io.BytesIO(data.content_of(getattr(stdin, "buffer", None))))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return _dispatch(words)
    except Exception as error:
        return _as_ours(error)
    except (output.Stop, guard.Ended) as stop:
        return stop.code
    finally:
        guard.own_process, sys.stdin = own, stdin


def _dispatch(words: list[str]) -> int:
    if not words:
        words = ["repl"] if output.is_terminal(sys.stdin) else ["run", "-"]
    group = make_group()
    try:
        with group.make_context("gradcli", words) as context:
            code = group.invoke(context)
            return code if isinstance(code, int) else 0
    except typer.Exit as leave:
        return leave.exit_code
    except BrokenPipeError:
        # the help text is written by typer itself
        output.abandon(sys.stdout)
        raise output.Stop(141) from None


def _as_ours(error: BaseException) -> GradcliError:
    if isinstance(error, GradcliError):
        return error
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "gradcli"
        return UsageError(error.format_message(), hints=[f"try {path} --help"])
    if isinstance(error, MemoryError):
        return LimitError("bytes", "the memory of this machine is used up")
    if isinstance(error, ImportError):
        # numpy's text is a page with paths
        what = error.name or "a module"
        return DataError(f"{what} cannot be loaded", hints=["a limit on memory (ulimit -v) may be too low; --debug shows the cause"])
    return InternalFault(f"{type(error).__name__}: {error}")
