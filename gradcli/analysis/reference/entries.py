"""The reference: everything that torch has here, grouped by family, found by name or pattern.

`describe(name)` is for one name, `find(pattern)` for what matches, `entries()` for all. Nothing is written down twice:
functions tell signatures, formulas and samples by their records.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from gradcli.analysis.reference import descriptions as described
from gradcli.analysis.reference import examples, summaries
from gradcli.core.calling.script_types import Constructor, PythonMethod, Routine, ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import FUNCTIONS, METHODS
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.random import seeds
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.prompt.checkpoint import Checkpoint
from gradcli.lang.syntax import parser
from gradcli.lang.values.value_classes import BoundMethod, Builtin
from gradcli.results import Derivative, Entry
from gradcli.source import Source

#: families of operations -> what the reference calls them; several may share a title
_TITLES = {
    "tensor_methods": "autograd of a tensor",
    "elementwise.bitwise": "arithmetic of bits",
    "shape.casting": "dtypes and copies",
    "elementwise.exponential": "exponentials and logarithms",
    "elementwise.trigonometric": "trigonometric and hyperbolic",
    "elementwise.activation": "activations",
    "elementwise.where": "choosing elementwise",
    "reduce.reduction": "reductions",
    "reduce.extremes": "extremes",
    "reduce.order_statistics": "order statistics",
    "reduce.cumulative": "cumulative sums and products",
    "linalg.products": "products of matrices",
    "linalg.einsum": "products of matrices",
    "linalg.multi_dot": "products of matrices",
    "linalg.linalg": "linear algebra",
    "linalg.decompositions": "linear algebra",
    "shape.layout": "distances and angles",
    "loss.losses": "losses",
    "loss.composed": "losses",
    "layers.normalization": "layers and normalization",
    "create.random": "random numbers",
    "index.indexing": "indexing",
    "index.gathering": "gathering and scattering",
    "shape.fill": "writing in place",
    "shape.views": "shapes and views",
    "shape.rearrange": "rearranging",
    "shape.broadcasting": "broadcasting",
    "shape.slicing": "parts of tensors",
    "elementwise.arithmetic": "arithmetic",
    "elementwise.comparison": "comparison",
    "elementwise.special": "special",
    "elementwise.rounding": "rounding",
    "reduce.norms": "norms",
    "reduce.statistics": "statistics",
    "index.sorting": "sorting",
    "layers.softmax": "softmax",
    "shape.joining": "joining",
    "index.scattering": "scattering",
    "linalg.distances": "distances",
    "reduce.assembled": "assembled",
    "create.creation": "creation",
    "layers.convolution": "convolution",
    "layers.pooling": "pooling",
    "layers.group_norms": "group norms",
    "layers.padding": "padding",
    "layers.interpolation": "interpolation",
    "layers.feature_dropout": "feature dropout",
    "layers.recurrent": "recurrent",
    "loss.margins": "margins",
    "layers.attention": "attention",
    "elementwise.activation_written": "activation written",
    "layers.embedding_bag": "bags",
    "shape.view_copies": "copies",
    "shape.storage": "memory",
    "predicates": "facts",
    "create.window_functions": "window functions",
    "elementwise.float_parts": "number parts",
    "index.counting": "runs",
    "linalg.lu": "lu",
    "linalg.solve": "matrix equations",
    "linalg.matrix_exponential": "matrix exponential",
    "loss.torch_level": "plain losses",
    "elementwise.bessel": "bessel",
    "elementwise.distribution_functions": "distribution functions",
    "elementwise.polynomials": "polynomials",
}
#: places in torch besides functions of tensors -> what the reference calls them
_PLACES = {
    "autograd": "autograd",
    "func": "autograd",
    "nn": "modules",
    "nn.parameter": "modules",
    "nn.init": "initial values",
    "nn.utils": "modules",
    "optim": "optimisers",
    "optim.lr_scheduler": "schedules of the learning rate",
    "random": "random numbers",
}
_GRADIENT_MODES = frozenset(name for name in library.PLACES if "grad" in name or "inference" in name or "vmap" in name)
_SHORT = {"F.": "nn.functional.", "Tensor.": "Tensor.", "nn.": "nn.", "optim.": "optim."}
_SUFFIX = re.compile(r"[A-Za-z]\w*Backward\d*\Z")


def entries() -> tuple[Entry, ...]:
    """Everything, in the order of the families; loads all of them."""
    seen: set[int] = set()
    found: list[Entry] = []
    for family in catalog.FAMILIES:
        found += _of_family(family, seen)
    rest = [entry for name in library.PLACES if (entry := _place(name, seen)) is not None]
    rest += [_constant(name, value) for name, value in _constants().items()]
    return tuple(_by_family([*found, *rest]))


def _by_family(found: Iterable[Entry]) -> list[Entry]:
    groups: dict[str, list[Entry]] = {}
    # a dtype has several names
    for entry in {entry.name: entry for entry in found}.values():
        groups.setdefault(entry.family, []).append(entry)
    return [entry for group in groups.values() for entry in group]


def find(pattern: str) -> tuple[Entry, ...]:
    """What a name (`softmax`, `F.softmax`, `Tensor.add_`, `MulBackward0`) or a pattern (`log*`) means.

    Raises ProgramError with suggestions when it means nothing.
    """
    found = [entry for entry in entries() if pattern in entry.grad_fns] if _SUFFIX.match(pattern) else _named(pattern)
    if not found:
        raise ProgramError("NameError", f"there is nothing called {pattern!r}", hints=_hints(pattern))
    return tuple(_by_family(found))


def describe(name: str) -> Entry | None:
    """What one name means, None for nothing: the first of what `find` finds."""
    try:
        return find(name)[0]
    except ProgramError:
        return None


def of_value(path: str, value: Any, is_own: bool) -> Entry | None:
    """What is known of a value that the prompt calls `path`, a name of the user's where `is_own`; None for what is not torch's."""
    if isinstance(value, BoundMethod) and type(value.owner) is Tensor:
        return describe(f"Tensor.{value.name}")
    if isinstance(value, Function):
        return describe(f"{value.namespace}.{value.name}")
    is_torch = isinstance(value, (Routine, ScriptType, dtypes.DType)) or (isinstance(value, Builtin) and ONE_OFF.get(value.name) is value)
    return describe(path) if is_torch and not is_own else None


def is_pattern(text: str) -> bool:
    """Whether the text has one of the characters of a pattern."""
    return any(char in text for char in "*?[")


def _plain(pattern: str) -> str:
    """A name as the index has it: without `torch.`, and `F.` written out."""
    text = pattern.strip().removeprefix("torch.").removesuffix("()")
    for short, full in _SHORT.items():
        if text.startswith(short):
            return full + text[len(short) :]
    return text


def _known() -> dict[str, str]:
    """All names, as under `torch.` or `Tensor.NAME`, with the family or "" for what is no function of tensors."""
    known = {**FUNCTIONS, **{f"Tensor.{name}": family for name, family in METHODS.items()}}
    return known | dict.fromkeys([*library.PLACES, *_constants()], "")


def _named(pattern: str) -> list[Entry]:
    known, wanted = _known(), _plain(pattern)
    if is_pattern(wanted):
        names = [name for name in known if fnmatchcase(name, wanted) or fnmatchcase(_last(name), wanted)]
    else:
        # `torch.softmax` is that one alone, `softmax` also nn.functional's
        names = [name for name in known if name == wanted or (f".{name}".endswith(f".{wanted}") and not pattern.startswith("torch."))]
        names = names or [name for name in known if f".{name}".lower().endswith(f".{wanted}".lower())]
    seen: set[int] = set()
    found: list[Entry] = []
    by_family: dict[str, list[str]] = {}
    for name in names:
        by_family.setdefault(known[name], []).append(name)
    for family, members in by_family.items():
        if family:
            wanted_names = {f"torch.{name}".replace("torch.Tensor.", "Tensor.") for name in members}
            found += [entry for entry in _of_family(family, seen) if wanted_names & _all_names(entry)]
        else:
            constants = _constants()
            for name in members:
                entry = _constant(name, constants[name]) if name in constants else _place(name, seen)
                found += [] if entry is None else [entry]
    return found


def _all_names(entry: Entry) -> set[str]:
    names = {entry.name, *entry.aliases}
    return names | {f"{name}_" for name in names} if entry.inplace else names


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _hints(wanted: str) -> list[str]:
    if is_pattern(wanted):
        return ["gradcli ops alone lists everything"]
    spellings: dict[str, dict[str, None]] = {}
    for name in _known():
        spellings.setdefault(_last(name).lower(), {})[_last(name)] = None
    close = [one for key in get_close_matches(_last(wanted).lower(), spellings, 4, 0.6) for one in spellings[key]]
    return [f"did you mean {', '.join(close[:5])}?"] if close else ["gradcli ops alone lists everything"]


# --- functions of tensors -------------------------------------------------------------------------


def _of_family(family: str, seen: set[int]) -> list[Entry]:
    found = []
    for function in import_module(f"gradcli.core.ops.{family}").FUNCTIONS:
        if id(function) not in seen:
            seen.add(id(function))
            found.append(_function(function, family))
    return found


def _function(function: Any, family: str) -> Entry:
    places = [f"torch.{name}" for name, one in catalog.places(function) if not isinstance(one, InplaceFunction)]
    methods = [f"Tensor.{name}" for name, one in catalog.methods(function) if not isinstance(one, InplaceFunction)]
    names = [*places, *methods]
    title = _TITLES.get(family, family.replace("_", " "))
    ops = dict.fromkeys(function.ops)
    name = names[0].removeprefix("torch.")
    return Entry(
        name=names[0],
        family=title,
        kind="function" if places else "method",
        signatures=_signatures(names[0], function),
        doc=function.doc,
        grad_fns=tuple(dict.fromkeys(op.grad_fn for op in ops)),
        derivatives=_derivatives(ops),
        aliases=tuple(names[1:]),
        is_method=bool(methods),
        inplace=function.inplace,
        takes_out=isinstance(function, Function) and function.takes_out,
        example=lambda: described.run_example(function.samples) or run_lines(examples.lines(name)),
    )


def _derivatives(ops: Iterable[Any]) -> tuple[Derivative, ...]:
    """The rules of the records; of several records of one grad_fn, such as with and without alpha, those of the more general one."""
    records = list(ops)
    found: dict[tuple[str, str], Derivative] = {}
    for op in sorted(records, key=_length, reverse=True):
        for argument, rule in op.rules.items():
            if rule is not None:
                found.setdefault((op.grad_fn, argument), Derivative(op.grad_fn, argument, rule.formula, rule.note))
    order = dict.fromkeys((op.grad_fn, argument) for op in records for argument in op.rules)
    return tuple(found[key] for key in order if key in found)


def _length(op: Any) -> int:
    return sum(len(rule.formula) for rule in op.rules.values() if rule is not None)


def _signatures(name: str, function: Any) -> tuple[str, ...]:
    if isinstance(function, Function):
        return described.signatures(name, function, is_method=not function.is_function)
    if isinstance(function, PythonMethod):
        return (_call(name, function, 1),)
    return (f"{name}(...)",)


# --- the rest -------------------------------------------------------------------------------------


def _place(name: str, seen: set[int]) -> Entry | None:
    """The entry of a routine, type or constant; None where another name has had it."""
    value = library.find(name)
    if id(value) in seen:
        return None
    seen.add(id(value))
    aliases = tuple(f"torch.{other}" for other, place in library.PLACES.items() if other != name and place == library.PLACES[name])
    kind, called = "constant", f"torch.{name}"
    if isinstance(value, ScriptType):
        kind, called = "type", _construction(f"torch.{name}", value)
    elif isinstance(value, Routine):
        kind, called = "routine", _call(f"torch.{name}", value, 0)
    own = summaries.remark(name, _first_paragraph(value))
    example = examples.lines(name)
    return Entry(f"torch.{name}", _title(name), kind, (called,), own, lambda: run_lines(example), aliases)


def _title(name: str) -> str:
    place = name.rpartition(".")[0]
    if place.startswith("autograd") or name in _GRADIENT_MODES:
        return "autograd"
    if "seed" in name or "rng" in name or "enerator" in name:
        return "random numbers"
    return _PLACES.get(place, "settings and types")


def _construction(name: str, value: ScriptType) -> str:
    return name if value.construct is None else _call(name, value.construct, 1)


def _call(name: str, routine: Routine, skip: int) -> str:
    """The signature of a routine without its first `skip` parameters, with the defaults."""
    target: Callable[..., Any] = routine.made if isinstance(routine, Constructor) else routine.function
    parts: list[str] = []
    signature = inspect.signature(inspect.getattr_static(target, "__init__") if isinstance(target, type) else target)
    for parameter in list(signature.parameters.values())[skip if routine.positional else 0 :]:
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts and not any(part.startswith("*") for part in parts):
            parts.append("*")
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        if parameter.name != "_":
            parts.append(f"{stars}{parameter.name}{default}")
    return f"{name}({', '.join(parts)})"


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (bool, int, float, str, tuple, list)) else "..."


def _first_paragraph(value: Any) -> str:
    target: Any = None
    if isinstance(value, ScriptType) and value.construct is not None:
        target = value.construct.made if isinstance(value.construct, Constructor) else value.construct.function
    elif isinstance(value, Routine):
        target = value.function
    text = "" if target is None else (target.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split())


def _constants() -> dict[str, Any]:
    names = [name for name in library.members("") if name not in FUNCTIONS and name not in library.PLACES and name not in library.MODULES]
    return {name: library.find(name) for name in names}


def _constant(name: str, value: Any) -> Entry:
    name = value.name if isinstance(value, dtypes.DType) else name
    full = f"torch.{name}"
    if not isinstance(value, dtypes.DType):
        return Entry(full, "constants", "constant", (full,), f"The number {value!r}.", lambda: run_lines((full,)))
    others = tuple(f"torch.{other}" for other, one in dtypes.NAMED.items() if one is value and other != name)
    sort = "Floating-point numbers" if value.is_floating_point else "Truth values" if value is dtypes.bool_ else "Integers"
    return Entry(full, "dtypes", "dtype", (full,), f"{sort}: {value.name}.", lambda: run_lines((f"tensor([1, 2], dtype={full})",)), others)


# --- examples -------------------------------------------------------------------------------------


def run_lines(lines: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Lines as at the prompt, run now, with what each prints; nothing of it stays. Raises what they raise."""
    kept = Checkpoint({})
    try:
        state.enabled, state.inference = True, False
        dtypes.set_default(dtypes.float32)
        seeds.manual_seed(0)
        interpreter = Interpreter(write=_nothing, warn=_no_warning, one_off=True)
        return tuple((line, _entered(interpreter, line)) for line in lines)
    finally:
        kept.restore()


def _entered(interpreter: Interpreter, line: str) -> str:
    value = interpreter.execute_input(parser.parse_input(Source("<example>", line)))
    return "" if value is None else interpreter.text(value)


def _nothing(text: str) -> None:
    """Examples print nothing."""


def _no_warning(category: str, message: str, place: object) -> None:
    """Nor do they warn."""
