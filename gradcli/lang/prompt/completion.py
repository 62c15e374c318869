"""Completion of names, attributes and keyword arguments. Nothing is evaluated for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.functions import catalog
from gradcli.core.functions._index import METHODS
from gradcli.core.functions.function import Function, InplaceFunction
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.lang.names import attributes, bare_names
from gradcli.lang.names.builtins import ONE_OFF
from gradcli.lang.names.importable_modules import TOP, module
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.syntax.lexer import KEYWORDS
from gradcli.lang.values.user_functions import UserFunction
from gradcli.lang.values.value_classes import MISSING, BoundMethod, Builtin, Namespace

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PATH = re.compile(r"([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\.\Z")
_CALLEE = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\Z")
_IMPORT = re.compile(r"\s*(?:import|from)\s+[A-Za-z0-9_.]*\Z")
_FROM = re.compile(r"\s*from\s+([A-Za-z0-9_.]+)\s+import\s+(?:[A-Za-z0-9_]+\s*(?:as\s+\w+\s*)?,\s*)*[A-Za-z0-9_]*\Z")
_STRINGS = re.compile(r"'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|#[^\n]*", re.S)


class Candidate(NamedTuple):
    """A completion: the text that replaces the word before the cursor, its kind, and its value or the value it is a member of."""

    text: str
    kind: str
    value: Value


def word_before(text: str) -> str:
    """The word that ends at the end of `text`."""
    match = _WORD.search(text)
    return "" if match is None else match[0]


def candidates(text: str, variables: dict[str, Value]) -> list[Candidate]:
    """The completions of the word at the end of `text`, sorted; private names only if the word begins with an underscore."""
    bare = _STRINGS.sub(_blanked, text)
    word = word_before(bare)
    before = bare[: len(bare) - len(word)]
    if _open_string(bare):
        return []
    found = _imports(bare)
    if found is None:
        found = _attributes(before, variables) if before.endswith(".") else _keywords(before, variables) + _names(before, variables)
    return [c for c in found if c.text.startswith(word) and (word.startswith("_") or not c.text.startswith("_"))]


def _blanked(match: re.Match[str]) -> str:
    """A string of underscores in place of a string, blanks in place of a comment, of the same length."""
    size = len(match[0])
    return " " * size if match[0][0] == "#" else '"' + "_" * (size - 2) + '"'


def _open_string(bare: str) -> bool:
    line = bare.rpartition("\n")[2]
    return line.count('"') % 2 == 1 or line.count("'") % 2 == 1


def _imports(bare: str) -> list[Candidate] | None:
    """Modules after `import` and `from`, their members after `from ... import`; None where no import is being typed."""
    line = re.split(r"[\n;]", bare)[-1]
    found = _FROM.match(line)
    if found is not None:
        place = module(found[1])
        return [] if place is None else [Candidate(name, "name", None) for name in place.names()]
    if _IMPORT.match(line):
        dotted = line.split()[-1] if not line.endswith(" ") else ""
        head = dotted.rpartition(".")[0]
        place = module(head) if head else None
        members = place.names() if place is not None else list(TOP)
        return [Candidate(name, "module", None) for name in members if place is None or module(f"{head}.{name}")]
    return None


def _names(before: str, variables: dict[str, Value]) -> list[Candidate]:
    if before[-1:].isdigit():
        return []
    own = [Candidate(name, "variable", value) for name, value in variables.items()]
    rest = [Candidate(name, "name", None) for name in bare_names.completions({}) if name not in variables]
    words = [Candidate(word, "keyword", None) for word in KEYWORDS]
    return sorted([*own, *rest, *words])


def _attributes(before: str, variables: dict[str, Value]) -> list[Candidate]:
    path = _PATH.search(before)
    if path is not None and not before[: path.start()].endswith((".", "]", ")")):
        owner = lookup(path[1], variables)
        if owner is MISSING:
            return []
    elif before.endswith(('".', "'.")):
        owner = ""
    elif before.endswith((").", "].")):
        owner = wrap(0.0)  # calls and subscripts most often give a tensor
    else:
        return []
    kind = "method" if type(owner) is not Namespace else "name"
    return [Candidate(name, kind, owner) for name in attributes.names_of(owner)]


def value_of(candidate: Candidate, variables: dict[str, Value]) -> Value:
    """The value of a candidate, or MISSING. May load modules of core."""
    if candidate.kind == "variable":
        return candidate.value
    if candidate.kind in ("method", "name") and candidate.value is not None:
        return attributes.find_attribute(candidate.value, candidate.text)
    return lookup(candidate.text, variables) if candidate.kind == "name" else MISSING


def lookup(path: str, variables: dict[str, Value]) -> Value:
    """The value of a dotted name, MISSING if there is none; only attributes are read."""
    first, *rest = path.split(".")
    value = variables.get(first, MISSING)
    if value is MISSING:
        value = bare_names.default(first, True)
    if value is MISSING and bare_names.is_torch(first, True):
        value = bare_names.torch_value(first)
    for name in rest:
        if value is MISSING:
            break
        value = attributes.find_attribute(value, name)
    return value


# --- keyword arguments ----------------------------------------------------------------------------


def open_call(text: str, variables: dict[str, Value]) -> tuple[str, Value] | None:
    """What is called by the innermost open parenthesis of `text`, as it is written, and its value; None outside of calls."""
    bare = _STRINGS.sub(_blanked, text)
    opening = _innermost(bare)
    while opening >= 0 and bare[opening] != "(":
        opening = _innermost(bare[:opening])
    if opening < 0:
        return None
    path, value = _callee(bare[:opening], variables)
    return None if value is MISSING else (path, value)


def _callee(head: str, variables: dict[str, Value]) -> tuple[str, Value]:
    """What `head` ends with, a name or a method, and its value; MISSING where that is not known."""
    called = _CALLEE.search(head)
    if called is not None:
        return called[1], lookup(called[1], variables)
    method = re.search(r"[\])]\.([A-Za-z_]\w*)\Z", head)
    return ("", MISSING) if method is None else (method[1], attributes.find_attribute(wrap(0.0), method[1]))


def _keywords(before: str, variables: dict[str, Value]) -> list[Candidate]:
    """Keyword arguments such as `dim=`, inside the parentheses of a call."""
    opening = _innermost(before)
    if opening < 0 or before[opening] != "(" or not before.rstrip().endswith(("(", ",")):
        return []
    value = _callee(before[:opening], variables)[1]
    used = set(re.findall(r"([A-Za-z_]\w*)\s*=", before[opening:]))
    return [Candidate(f"{name}=", "keyword argument", None) for name in keyword_names(value) if name not in used]


def _innermost(text: str) -> int:
    """The position of the innermost open bracket; -1 for none."""
    closing = {")": 0, "]": 0, "}": 0}
    pairs = {"(": ")", "[": "]", "{": "}"}
    for at in range(len(text) - 1, -1, -1):
        char = text[at]
        if char in closing:
            closing[char] += 1
        elif char in pairs:
            if not closing[pairs[char]]:
                return at
            closing[pairs[char]] -= 1
    return -1


def keyword_names(value: Value) -> list[str]:
    """The names of the parameters that a callable takes, as far as they are known."""
    if isinstance(value, InplaceFunction):
        value = value.of
    if isinstance(value, BoundMethod):
        return _method_keywords(value)
    if isinstance(value, Function):
        return _parameter_names(value.parser)
    if isinstance(value, ScriptType):
        value = value.construct
    if isinstance(value, Routine):
        return [name for name in (*value.positional, *value.keyword_only) if name not in ("self", "_")]
    if isinstance(value, UserFunction):
        return [*value.code.positional, *value.code.keyword_only]
    if isinstance(value, Builtin):
        if ONE_OFF.get(value.name) is value:
            return keyword_names(catalog.function(value.name))
        return _host_names(value.function)
    return []


def _method_keywords(method: BoundMethod) -> list[str]:
    declared = catalog.method(method.name) if type(method.owner) is Tensor and method.name in METHODS else None
    if isinstance(declared, InplaceFunction):
        declared = declared.of
    if isinstance(declared, Function):
        return _parameter_names(declared.method_parser)
    return keyword_names(declared)[1:]


def _host_names(function: Callable[..., Value]) -> list[str]:
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    return list(code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount])


def _parameter_names(parser: Parser) -> list[str]:
    found: dict[str, None] = {}
    for signature in parser.signatures:
        if not signature.deprecated:
            found.update((parameter.name, None) for parameter in signature.parameters)
    return list(found)
