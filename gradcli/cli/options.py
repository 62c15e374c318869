"""The options that commands share, declared once, in bundles that a command takes as one parameter each.

Annotations are read at run time by typer, so this module keeps them as objects.
"""

import inspect
import os
import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import Annotated, Any, get_args

import typer
from typer import Option

import gradcli
from gradcli import limits
from gradcli.cli import output
from gradcli.errors import UsageError
from gradcli.plain import Plain

#: the formats of numbers, which most commands write
FORMATS = ("table", "repr", "plain", "json", "csv")
#: where typer's context keeps the options as they were typed
GIVEN = "gradcli.given"
COLOURS = ("auto", "always", "never")
DTYPES = ("float32", "float64")
#: what is done with empty cells of tables; `gradcli.data` has the same, and takes numpy with it
MISSING = ("error", "nan", "drop")
SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
#: suffixes of `-o FILE` that pick the format by themselves
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".npy": "npy",
    ".tex": "latex",
    ".svg": "svg",
    ".png": "png",
    ".pdf": "pdf",
    ".html": "html",
    ".htm": "html",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}
#: suffixes of files that no command writes
_FOREIGN = r"\.(?:npz|pth?|pkl|jpe?g|gif|webp|tiff?|bmp|e?ps|xlsx?|ods|parquet|h5|hdf5|mat|tsv|xml|ya?ml|toml|ipynb|zip|gz|docx?)"


def _version(wanted: bool) -> None:
    if wanted:
        output.write_stdout(f"gradcli {gradcli.__version__}\n", safe=True)
        raise typer.Exit(0)


def spoken(names: Sequence[str]) -> str:
    """The names as a sentence lists them: `a, b or c`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def checked(option: str, choices: Sequence[str]) -> Callable[[str | None], str | None]:
    """A callback that refuses what is not among `choices`."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in choices:
            raise UsageError(f"{option} takes {spoken(choices)}, not {value!r}")
        return value

    return check


def listed(choices: Sequence[str]) -> Callable[[], Sequence[str]]:
    """What completion offers for a value."""
    return lambda: choices


def _separator(value: str | None) -> str | None:
    found = value if value is None else SEPARATORS.get(value, value)
    if found is not None and (len(found) != 1 or found in '\r\n"' or found.isalnum()):
        raise UsageError(f"--separator takes one character, tab or space, not {value!r}")
    return found


Version = Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")]


class Shared(Plain):
    """What every command that evaluates something takes."""

    file: Annotated[str | None, Option("-f", "--file", metavar="FILE", help="Read the expression from FILE; - is standard input.")] = None
    dtype: Annotated[
        str | None,
        Option(
            "--dtype",
            metavar="DTYPE",
            callback=checked("--dtype", DTYPES),
            autocompletion=listed(DTYPES),
            help="float32 (the default) or float64.",
        ),
    ] = None
    seed: Annotated[int | None, Option("--seed", metavar="N", help="Seed the generator, as manual_seed(N) does.")] = None
    #: `bundled` declares the choices, which are the command's own
    format: Annotated[str | None, Option("--format", metavar="FORMAT")] = None
    json: Annotated[bool, Option("--json", help="Short for --format json; errors are JSON too.")] = False
    precision: Annotated[
        int | None, Option("--precision", metavar="N", min=0, max=99, help="Digits after the point in tables and torch's text.")
    ] = None
    output: Annotated[
        str | None,
        Option(
            "-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all; its suffix picks the format. - is standard output."
        ),
    ] = None
    missing: Annotated[
        str,
        Option(
            "--missing",
            metavar="HOW",
            callback=checked("--missing", MISSING),
            autocompletion=listed(MISSING),
            help="Empty cells of tables: error, nan or drop.",
        ),
    ] = "error"
    separator: Annotated[
        str | None, Option("--separator", metavar="S", callback=_separator, help="Between the cells of tables: a character, tab or space.")
    ] = None
    untrusted: Annotated[bool, Option("--untrusted", help="Strict bounds on time, memory and size, for text from strangers.")] = False
    limit: Annotated[
        list[str] | None,
        Option(
            "--limit",
            metavar="NAME=VALUE",
            autocompletion=listed([f"{name}=" for name in limits.NAMES]),
            help="Change one bound, e.g. time=5s or bytes=1GiB.",
        ),
    ] = None
    quiet: Annotated[bool, Option("-q", "--quiet", help="No warnings.")] = False
    color: Annotated[
        str | None,
        Option(
            "--color", metavar="WHEN", callback=checked("--color", COLOURS), autocompletion=listed(COLOURS), help="auto, always or never."
        ),
    ] = None
    no_color: Annotated[bool, Option("--no-color", help="Short for --color never.")] = False
    debug: Annotated[bool, Option("--debug", help="Show Python tracebacks of errors.")] = False
    version: Version = False
    #: the options as they were typed, which is no option itself
    given: Sequence[tuple[str, ...]] = ()

    def __init__(self, **values: Any) -> None:
        if values.get("no_color"):
            if values.get("color") not in (None, "never"):
                raise UsageError(f"--no-color and --color {values['color']} contradict each other")
            values["color"] = "never"
        super().__init__(**values)

    @property
    def path(self) -> str | None:
        """The file of `-o`, None for standard output."""
        return None if self.output == "-" else self.output

    def chosen_format(self, default: str, formats: Sequence[str] = FORMATS) -> str:
        """The output format: `--format`, `--json`, the suffix of `-o`, else `default`. Raises UsageError for one not in `formats`."""
        if self.json and self.format not in (None, "json"):
            raise UsageError(f"--json and --format {self.format} contradict each other")
        if self.json or self.format:
            chosen = self.format or "json"
            if chosen not in formats:
                raise UsageError(f"--format {chosen} is not what this command can write; it has {', '.join(formats)}")
            return chosen
        suffix = os.path.splitext(self.path or "")[1].lower()
        chosen = SUFFIXES.get(suffix, default)
        if chosen not in formats or re.fullmatch(_FOREIGN, suffix):
            hints = [f"--format {default} writes it under any name"] if default in FORMATS else []
            raise UsageError(f"a file that ends in {suffix} is not what this command can write; it has {', '.join(formats)}", hints=hints)
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
        if hasattr(types[name], "__metadata__")
    ]


def bundled(function: Callable[..., int], formats: Sequence[str], without: Sequence[str]) -> Callable[..., int]:
    """`function` for typer: each parameter whose type is a bundle becomes the bundle's options.

    `formats` are what `--format` takes; help does not show the options called `without`, nor a choice between one format.
    """
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, Any] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Plain):
            bundles[parameter.name] = parameter.annotation
            parameters += [_fitting(option, formats, without) for option in _options(parameter.annotation)]
        else:
            parameters.append(parameter)

    def command(context: typer.Context, **values: Any) -> int:
        values["given"] = context.meta.get(GIVEN, ())
        made = {name: bundle(**{field: values.pop(field) for field in bundle.FIELDS}) for name, bundle in bundles.items()}
        return function(**values, **made)

    parameters.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    command.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _fitting(parameter: inspect.Parameter, formats: Sequence[str], without: Sequence[str]) -> inspect.Parameter:
    """The option as one command has it."""
    name = parameter.name
    if name == "format" and len(formats) > 1:
        option = Option(
            "--format", metavar="FORMAT", callback=checked("--format", formats), autocompletion=listed(formats), help=f"{spoken(formats)}."
        )
    elif name in without or (name == "format" and len(formats) < 2) or (name == "json" and "json" not in formats):
        option = copy(parameter.annotation.__metadata__[0])
        option.hidden = True
    else:
        return parameter
    return parameter.replace(annotation=Annotated[get_args(parameter.annotation)[0], option])
