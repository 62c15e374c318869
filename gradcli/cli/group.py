"""The commands as typer sees them: their names, the group that finds them, their help."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from gradcli.cli import arguments, output
from gradcli.cli.options import GIVEN, Version, bundled
from gradcli.errors import UsageError

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
    "config": "The settings of the prompt, and where they are kept.",
    "repl": "The prompt; without a terminal, runs standard input as a script.",
}

_EXAMPLES = """\
gradcli grad 'mean((x+2)*(x+2)*2)' x='[-1.2301, 0.5498, -1.7590]'
gradcli grad 'x**2' x=1,2,3 -v 1,1,1
gradcli eval 'randn(4,4)' --seed 6"""

_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _write_examples(formatter: Any, examples: str) -> None:
    formatter.write("Examples:\n")
    for line in examples.splitlines():
        formatter.write(f"  {line}\n")
    formatter.write("\n")


def _write_help(text: str) -> NoReturn:
    """Write a help text, and leave. Raises typer.Exit, and what `write_stdout` raises."""
    output.write_stdout(text + "\n", safe=True)
    raise typer.Exit(0)


class Command(TyperCommand):
    """A command whose help begins with its examples (handed over as the epilog), and whose expressions may begin with a minus."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Hand typer the options first and everything else after `--`."""
        if not ctx.resilient_parsing:
            params: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
            options = {name: not (param.is_flag or param.count) for param in params for name in param.opts}
            chosen, rest = arguments.separate(args, options)
            arguments.refuse_file_after_untrusted(chosen)
            ctx.meta[GIVEN] = chosen
            args = [*(word for option in chosen for word in option), "--", *rest]
        return super().parse_args(ctx, args)

    def get_help(self, ctx: Any) -> NoReturn:
        """Write the help text, which typer would write without a look at errors."""
        _write_help(super().get_help(ctx))

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
        """Raise UsageError for a first word that begins with a minus and is no option: a command is missing."""
        if args and args[0] not in COMMANDS:
            from gradcli.cli.unknown_commands import spelled_out

            args = spelled_out(args)
        if args and args[0] in ("--install-completion", "--show-completion"):
            _completion(args)
        own = {name for param in self.get_params(ctx) for name in param.opts}
        if args and args[0].startswith("-") and args[0] not in own and args[0] != "--" and not ctx.resilient_parsing:
            raise _unknown(args)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raise UsageError, with the command that was probably meant, for a first word that is no command."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise _unknown(args)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: Any) -> NoReturn:
        """Write the help text, as `Command` does."""
        _write_help(super().get_help(ctx))

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


def _unknown(words: Sequence[str]) -> UsageError:
    from gradcli.cli.unknown_commands import no_such_command

    return no_such_command(words, list(COMMANDS), lambda name: {option for param in make_command(name).params for option in param.opts})


def make_command(name: str) -> Any:
    """The click command of `gradcli.cli.commands.NAME`, which offers `command`, `HELP`, `EXAMPLES`, `FORMATS` and perhaps `WITHOUT`."""
    module = import_module(f"gradcli.cli.commands.{name}")
    made = bundled(module.command, module.FORMATS, getattr(module, "WITHOUT", ()))
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, cls=Command, help=module.HELP, epilog=module.EXAMPLES, context_settings=_SETTINGS)(made)
    return typer.main.get_command(app)


def _completion(words: Sequence[str]) -> NoReturn:
    """`--install-completion [SHELL]` and `--show-completion [SHELL]`. Raises UsageError, DataError, typer.Exit."""
    from gradcli.cli.completion import scripts

    option, *shell = words
    if len(shell) > 1:
        raise UsageError(f"unexpected argument {shell[1]!r}")
    if option == "--show-completion":
        output.write_stdout(scripts.script(*shell), safe=True)
    else:
        name, path = scripts.install(*shell)
        output.write_stdout(f"completion for {name} is in {path}; shells that are started from now on have it\n")
    raise typer.Exit(0)


def _root(
    version: Version = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", help="Install completion for this shell, or the one that follows: bash, zsh or fish.")
    ] = False,
    show_completion: Annotated[bool, typer.Option("--show-completion", help="Print the completion script instead.")] = False,
) -> None:
    """PyTorch's gradients at the shell prompt, without PyTorch."""


def make_group() -> Any:
    """The click command of `gradcli` itself."""
    app = typer.Typer(cls=Group, rich_markup_mode=None, context_settings=_SETTINGS, add_completion=False)
    app.callback()(_root)
    return typer.main.get_command(app)
