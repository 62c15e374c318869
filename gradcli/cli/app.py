"""The entry point: finds the command, runs it, and turns every error into one message and an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any

import typer
from typer._click.exceptions import ClickException
from typer.core import TyperCommand, TyperGroup

from gradcli.cli import arguments, guard, output
from gradcli.cli.options import Version, bundled
from gradcli.cli.reporting import reporter
from gradcli.errors import GradcliError, InternalFault, LimitError, UsageError

#: name -> what it does, in a few words; the module of the same name in `gradcli.cli.commands` is loaded when needed
COMMANDS = {
    "eval": "The value of an expression, with its grad_fn.",
    "grad": "Value and gradients: v^T J; for a scalar, v is 1.",
    "jacobian": "All first derivatives: the whole matrix.",
    "hessian": "All second derivatives; with --with-grad value and gradient too.",
    "check": "The gradients by rule against central differences, in float64.",
    "explain": "Every step forward and backward: value, gradient, and how it came.",
    "graph": "The graph: a tree, or DOT, Mermaid, SVG, JSON.",
    "minimize": "The values of the variables where an expression is smallest.",
    "plot": "The curve of an expression with its derivatives; over two ranges a map.",
    "report": "One page: result, graph, every step, plots, output.",
    "ops": "The reference: signatures, grad_fn, derivatives, examples.",
    "run": "Scripts written for PyTorch, unchanged.",
    "batch": "Requests in JSON, one a line, answered one a line.",
    "repl": "The prompt; without a terminal, runs standard input as a script.",
}

_EXAMPLES = """\
gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'
gradcli grad 'x**2' x=1,2,3 -v 1,1,1
gradcli eval 'randn(4,4)' --seed 6"""

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Terminated(BaseException):
    """SIGTERM has come: unwind, so that nothing half-written stays."""


def _write_examples(formatter: Any, examples: str) -> None:
    formatter.write("Examples:\n")
    for line in examples.splitlines():
        formatter.write(f"  {line}\n")
    formatter.write("\n")


class Command(TyperCommand):
    """A command whose help begins with its examples (handed over as the epilog), and whose expressions may begin with a minus."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hand typer the options first and everything else after `--`."""
        if not ctx.resilient_parsing:
            params: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
            options = {name: not (param.is_flag or param.count) for param in params for name in param.opts}
            chosen, rest = arguments.separate(args, options)
            args = [*chosen, "--", *rest]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Examples, usage, what it does, options."""
        _write_examples(formatter, self.epilog or "")
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)


class Group(TyperGroup):
    """All commands, each made when it is needed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        return make_command(cmd_name) if cmd_name in COMMANDS else None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A first word with a minus that is no option is a forgotten command, too."""
        own = {name for param in self.get_params(ctx) for name in param.opts}
        if args and args[0].startswith("-") and args[0] not in own and args[0] != "--" and not ctx.resilient_parsing:
            raise no_such_command(args)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """There is no catch-all: an expression alone is answered with the command it lacks."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise no_such_command(args)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Examples, usage, commands, options."""
        _write_examples(formatter, _EXAMPLES)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table, without loading the commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def no_such_command(words: Sequence[str]) -> UsageError:
    """What to say to words that begin with no command."""
    # 4 ms
    from difflib import get_close_matches

    word = words[0]
    close = get_close_matches(word, COMMANDS)
    if close:
        return UsageError(f"no such command: {word}", hints=[f"did you mean {', '.join(close)}?"])
    if word.startswith("--"):
        return UsageError(f"no such option: {word}", hints=["try gradcli --help"])
    line = " ".join(["gradcli", "eval", *map(arguments.shell_word, words)])
    return UsageError(f"no such command: {word}", hints=[f"did you mean {line}?"])


def make_command(name: str) -> Any:
    """The click command of `gradcli.cli.commands.NAME`, which offers `command`, `HELP` and `EXAMPLES`."""
    module = import_module(f"gradcli.cli.commands.{name}")
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, cls=Command, help=module.HELP, epilog=module.EXAMPLES, context_settings=_SETTINGS)(bundled(module.command))
    return typer.main.get_command(app)


def _root(version: Version = False) -> None:
    """PyTorch's gradients at the shell prompt, without PyTorch."""


def make_group() -> Any:
    """The click command of `gradcli` itself."""
    app = typer.Typer(cls=Group, rich_markup_mode=None, context_settings=_SETTINGS)
    app.callback()(_root)
    return typer.main.get_command(app)


def main() -> None:
    """The console script."""
    guard.own_process = True
    signal.signal(signal.SIGTERM, _terminate)
    if "_GRADCLI_COMPLETE" in os.environ:
        make_group().main(prog_name="gradcli")
    sys.exit(run(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def run(words: Sequence[str]) -> int:
    """Run one command line in this process; the exit code."""
    output.prepare_streams()
    try:
        try:
            return _dispatch(list(words) or ["repl"])
        except (GradcliError, ClickException, OSError, MemoryError, RecursionError) as error:
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
        # the alarm, in the midst of another error; it comes once, and not when a report has begun
        guard.finish()
        return reporter(words).report(error)
    except (output.Stop, guard.Ended) as stop:
        return stop.code
    except KeyboardInterrupt:
        return 130
    except Terminated:
        return 143


def _attempt(words: list[str]) -> GradcliError | int:
    """Run a command line for nothing but the error that it ends with, or its exit code."""
    from gradcli import data  # it loads numpy, which the error has not come without

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
    if isinstance(error, ClickException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "gradcli"
        return UsageError(error.format_message(), hints=[f"try {path} --help"])
    if isinstance(error, MemoryError):
        return LimitError("bytes", "the memory of this machine is used up")
    return InternalFault(f"{type(error).__name__}: {error}")
