"""The options that commands share, declared once, in bundles that a command takes as one parameter each.

Annotations are read at run time by typer, so this module keeps them as objects.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer import Option

import gradcli
from gradcli.errors import UsageError
from gradcli.plain import Plain

FORMATS = ("table", "repr", "plain", "json", "csv")
COLOURS = ("auto", "always", "never")
DTYPES = ("float32", "float64")
#: suffixes of `-o FILE` that pick the format by themselves
_SUFFIXES = {".json": "json", ".csv": "csv", ".svg": "svg", ".png": "png", ".html": "html"}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gradcli {gradcli.__version__}")
        raise typer.Exit(0)


def _choice(option: str, choices: tuple[str, ...]) -> Callable[[str | None], str | None]:
    """A callback that refuses what is not among `choices`."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            raise UsageError(f"{option} takes {', '.join(choices[:-1])} or {choices[-1]}, not {value!r}")
        return value

    return check


Version = Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")]


class Shared(Plain):
    """What every command that evaluates something takes."""

    file: Annotated[str | None, Option("-f", "--file", metavar="FILE", help="Read the expression from FILE; - is standard input.")] = None
    dtype: Annotated[
        str | None, Option("--dtype", metavar="DTYPE", callback=_choice("--dtype", DTYPES), help="float32 (the default) or float64.")
    ] = None
    seed: Annotated[int | None, Option("--seed", metavar="N", help="Seed the generator, as manual_seed(N) does.")] = None
    format: Annotated[
        str | None, Option("--format", metavar="FORMAT", callback=_choice("--format", FORMATS), help="table, repr, plain, json or csv.")
    ] = None
    json: Annotated[bool, Option("--json", help="Short for --format json; errors are JSON too.")] = False
    precision: Annotated[
        int | None, Option("--precision", metavar="N", min=0, max=99, help="Digits after the point in tables and torch's text.")
    ] = None
    output: Annotated[
        str | None, Option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all; its suffix picks the format.")
    ] = None
    untrusted: Annotated[bool, Option("--untrusted", help="Strict bounds on time, memory and size, for text from strangers.")] = False
    limit: Annotated[list[str] | None, Option("--limit", metavar="NAME=VALUE", help="Change one bound, e.g. time=5s or bytes=1GiB.")] = None
    quiet: Annotated[bool, Option("-q", "--quiet", help="No warnings.")] = False
    color: Annotated[str | None, Option("--color", metavar="WHEN", callback=_choice("--color", COLOURS), help="auto, always or never.")] = (
        None
    )
    debug: Annotated[bool, Option("--debug", help="Show Python tracebacks of errors.")] = False
    version: Version = False

    def chosen_format(self, default: str, formats: tuple[str, ...] = FORMATS) -> str:
        """The output format: `--format`, `--json`, the suffix of `-o`, else `default`. Raises UsageError for one not in `formats`."""
        if self.json and self.format not in (None, "json"):
            raise UsageError(f"--json and --format {self.format} contradict each other")
        if self.json or self.format:
            chosen = self.format or "json"
            origin = f"--format {chosen}"
        else:
            suffix = (self.output or "")[-5:].lower()
            chosen = next((name for end, name in _SUFFIXES.items() if suffix.endswith(end)), default)
            origin = f"a file that ends in {suffix[suffix.find('.') :]}"
        if chosen not in formats:
            raise UsageError(f"{origin} is not what this command can write; it has {', '.join(formats)}")
        return chosen


class Variables(Plain):
    """Which variables to differentiate by."""

    wrt: Annotated[str | None, Option("--wrt", metavar="NAMES", help="Only these variables, e.g. x,y.")] = None

    def names(self) -> list[str] | None:
        """The names of `--wrt`, None when it is absent."""
        return None if self.wrt is None else [name.strip() for name in self.wrt.split(",")]


class Differentiation(Variables):
    """What the commands that walk backward take besides."""

    vector: Annotated[
        list[str] | None, Option("-v", "--vector", metavar="V", help="Weights v of the output, for v^T J; repeat for several gradients.")
    ] = None
    all: Annotated[bool, Option("--all", help="Every intermediate value too.")] = False


def _options(bundle: type[Plain]) -> list[inspect.Parameter]:
    types = {name: kind for base in reversed(bundle.__mro__) for name, kind in vars(base).get("__annotations__", {}).items()}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(bundle, name), annotation=types[name])
        for name in bundle.FIELDS
    ]


def bundled(function: Callable[..., int]) -> Callable[..., int]:
    """`function` for typer: each parameter whose type is a bundle becomes the bundle's options."""
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Plain):
            bundles[parameter.name] = parameter.annotation
            parameters += _options(parameter.annotation)
        else:
            parameters.append(parameter)

    def command(**values: Any) -> int:
        made = {name: bundle(**{field: values.pop(field) for field in bundle.FIELDS}) for name, bundle in bundles.items()}
        return function(**values, **made)

    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
