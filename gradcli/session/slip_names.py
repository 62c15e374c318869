"""Repairs of names: unknown ones, those of other libraries, and those that hide others."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches

from gradcli.core.functions._index import FUNCTIONS, METHODS
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from gradcli.errors import Code, LanguageError, Repair
from gradcli.lang.interpreter.scope import analyse
from gradcli.lang.names import attributes, bare_names
from gradcli.lang.syntax import nodes, parser
from gradcli.lang.values.value_classes import MISSING, Namespace
from gradcli.session.slip import Slip, all_of
from gradcli.source import Source, Span

#: attributes of other libraries
_OTHER_ATTRIBUTES = {"ln": "log", "len": "numel()", "length": "numel()", "average": "mean", "avg": "mean", "transpose": "T", "astype": "to"}


def unknown(slip: Slip) -> Iterable[Repair]:
    """All unknown names at once: renamed, or given a value."""
    if slip.error.code is not Code.UNKNOWN_NAME:
        return
    derivative = re.match(r"\s*d\s*/\s*d(\w+)\b\s*", slip.text)
    if derivative and derivative[1] in slip.variables:
        yield Repair(all_of(slip.source), slip.text[derivative.end() :], command="grad")
    unknown = unknown_names(slip.source, slip.variables)
    called = {node.function.id for node in slip.every if isinstance(node, nodes.Call) and isinstance(node.function, nodes.Name)}
    edits: list[tuple[nodes.Node, str]] = []
    missing: set[str] = set()
    for node in slip.every:
        if isinstance(node, nodes.Name) and node.id in unknown:
            meant = _meant(node.id, node.id in called, slip.variables)
            if meant is None:
                missing.add(node.id)
            else:
                edits.append((node, meant))
    text = slip.text
    for node, meant in reversed(edits):
        text = text[: node.start] + meant + text[node.end :]
    if not missing:
        yield Repair(all_of(slip.source), text, sure=True)
    if not missing or missing & called:
        return
    named = ", ".join(sorted(missing))
    remark = f"any value for {named}: {' '.join(f'{name}=...' for name in sorted(missing))}"
    for value in ("1", *_shapes(slip.variables)):
        yield Repair(all_of(slip.source), text, values=dict.fromkeys(sorted(missing), value), remark=remark)


def unknown_names(source: Source, variables: Container[str]) -> list[str]:
    """The names in an expression that have no value, sorted; none for what is no expression."""
    try:
        tree = parser.parse_expression(source)
    except LanguageError:
        return []
    return sorted(name for name in _wanted(tree) if name not in variables and not _is_known(name))


def _wanted(tree: nodes.Expr) -> set[str]:
    scope = analyse(tree, [tree])
    return scope.wanted - scope.bound.keys()


def _is_known(name: str) -> bool:
    return bare_names.is_python(name) or bare_names.is_torch(name, True) or bare_names.default(name, True) is not MISSING


def _meant(name: str, called: bool, variables: Mapping[str, object]) -> str | None:
    """The name that is meant by an unknown one; None for a variable without a value."""
    if name in bare_names.OTHER_NAMES:
        return bare_names.OTHER_NAMES[name]
    same = [one for one in variables if one.lower() == name.lower()]
    if same:
        return same[0]
    if not called and name not in library.MODULES:
        close = get_close_matches(name, variables, 1, 0.75) if len(name) > 2 else []
        return close[0] if close else "pi" if name.lower() == "pi" else None
    if name in library.MODULES:
        return f"torch.{name}"
    prefixes = {
        "nn.functional": "F",
        "linalg": "torch.linalg",
        "special": "torch.special",
        "autograd": "torch.autograd",
        "func": "torch.func",
    }
    plain = name.lower().replace("_", "")
    for place, shown in {"": "", **prefixes}.items():
        same = [one for one in library.members(place) if one.replace("_", "") == plain and one.islower()]
        if same:
            return f"{shown}.{same[0]}".lstrip(".")
    close = get_close_matches(name, [*FUNCTIONS, *bare_names.PYTHON], 1, 0.7)
    return close[0] if close else None


def _shapes(variables: Mapping[str, object]) -> list[str]:
    """Texts of values with the shapes of the variables."""
    shapes = {tuple(one.array.shape) for one in variables.values() if type(one) is Tensor and 0 < one.array.ndim < 3}
    shapes |= {shape[::-1] for shape in shapes}
    return [f"ones({', '.join(map(str, shape))})" for shape in sorted(shapes)]


def shadowed(slip: Slip) -> Iterable[Repair]:
    """A name of torch that stands for its function, where a variable is meant; and a variable that hides a function."""
    # Python's types and functions, and methods, have names of types in messages, and so have torch's functions
    function = slip.error.type_name == "TypeError" and any("function" in name for name in slip.error.names)
    operands = {word for part in slip.step or () for word in re.findall(r"\w+", part)} if function else set()
    left, joint, right = slip.step or ("", "", "")
    if left in operands and left in FUNCTIONS and joint.strip() == "-":
        yield slip.changed(slip.span, f"{left}(-{right})")
    for node in slip.every:
        if isinstance(node, nodes.Subscript) and node in slip.at and slip.text_of(node.value) in FUNCTIONS:
            yield slip.changed(node, f"{slip.text_of(node.value)}({slip.text_of(node.index)})")
        if not isinstance(node, nodes.Name):
            continue
        if node.id not in slip.variables and node.id in operands:
            for value in ("1", *_shapes(slip.variables)):
                yield Repair(values={node.id: value}, remark=f"{node.id} is a function of torch until {node.id}=... gives it a value")
    for call in slip.calls():
        if isinstance(call.function, nodes.Name) and call.function.id in slip.variables and call.function.id in FUNCTIONS:
            yield slip.changed(call.function, f"torch.{call.function.id}")


# --- attributes ---


def missing_attributes(slip: Slip) -> Iterable[Repair]:
    """A name that a value or a module does not have, but another does."""
    error = slip.error
    for node in slip.every:
        if not isinstance(node, nodes.Attribute):
            continue
        owner = slip.text_of(node.value)
        if owner in ("np", "numpy", "math") and node.name in FUNCTIONS and owner not in slip.variables:
            yield slip.changed(node, node.name)
        if error.code is not Code.NO_ATTRIBUTE or error.names[1:] != (node.name,):
            continue
        name = Span(slip.source, node.end - len(node.name), node.end)
        if node.name in _OTHER_ATTRIBUTES:
            yield slip.changed(name, _OTHER_ATTRIBUTES[node.name])
        if (owner in ("torch", "F", "nn", "nn.functional") or "torch." in owner) and node.name not in FUNCTIONS:
            places = {"nn.functional": "F", "linalg": "torch.linalg", "special": "torch.special", "": "torch", "nn": "nn", "optim": "optim"}
            yield from (
                slip.changed(node, f"{shown}.{node.name}") for place, shown in places.items() if node.name in library.members(place)
            )
        elif node.name in FUNCTIONS and owner != "torch":
            called = next((one for one in slip.every if isinstance(one, nodes.Call) and one.function is node), None)
            if owner in ("F", "nn", "np", "math") or owner.startswith("torch."):
                yield slip.changed(node, f"torch.{node.name}")
            elif called is not None:
                inner = slip.text[node.end : called.end].lstrip().removeprefix("(").removesuffix(")").strip()
                yield slip.changed(called, f"{node.name}({owner}{', ' if inner else ''}{inner})")
        known: Iterable[str] = METHODS
        value = slip.variables.get(owner) if owner in slip.variables else bare_names.default(owner, True)
        if isinstance(value, Namespace):
            known = attributes.names_of(value)
        lower = node.name.lower()
        close = [lower] if lower in known and lower != node.name else get_close_matches(node.name, list(known), 2, 0.7)
        yield from (slip.changed(name, one) for one in close)
