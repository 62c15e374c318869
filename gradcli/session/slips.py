"""What the writer of an expression may have meant, where it ended with an error: texts to put in its place, the likeliest first.

Most of them are guesses. The command line tries each before it shows it; the prompt shows those that are sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from gradcli.analysis.operands import walk
from gradcli.core.functions._index import FUNCTIONS, METHODS
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import library
from gradcli.errors import Code, GradcliError, LanguageError, ProgramError, Repair
from gradcli.lang.interpreter.scope import analyse
from gradcli.lang.names import attributes, bare_names
from gradcli.lang.syntax import nodes, parser
from gradcli.lang.values.value_classes import MISSING, Namespace
from gradcli.session.notation import rewritten, with_commas
from gradcli.source import Source, Span

#: arguments and attributes of other libraries
_OTHER_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "axes": "dim"}
_OTHER_ATTRIBUTES = {"ln": "log", "len": "numel()", "length": "numel()", "average": "mean", "avg": "mean", "transpose": "T", "astype": "to"}


def repairs(error: GradcliError, variables: Mapping[str, object], *, statements: bool = False) -> list[Repair]:
    """What to type instead of an expression, or an input with `statements`, that ended with `error`; nothing for other text."""
    if error.span is None:
        return []
    source = error.span.source
    if not source.name.startswith("<"):
        return []
    if isinstance(error, LanguageError):
        found = (None if statements else _eaten(source, variables)) or rewritten(source.text, statements=statements)
        sure = [] if found is None else [Repair(_all(source), found.strip(), sure=True)]
        listed = with_commas(source.text)
        return sure if listed is None or listed == found else [*sure, Repair(_all(source), listed)]
    try:
        tree = parser.parse_expression(source)
    except LanguageError:
        return []
    assert isinstance(error, ProgramError)
    slip = _Slip(error, tree, variables)
    made: dict[tuple[object, ...], Repair] = {}
    for rule in _RULES:
        for one in rule(slip):
            made.setdefault((one.span, one.text, *one.values.items(), *one.exact, *one.leaves, *one.options, one.command), one)
    return list(made.values())


def _all(source: Source) -> Span:
    return Span(source, 0, len(source.text))


def _eaten(source: Source, variables: Mapping[str, object]) -> str | None:
    """An expression whose first name was taken by the shell, as in "$x*2": with the name back, where there is only one."""
    text = source.text.strip()
    if source.name == "<expression>" and re.match(r"[*/@%]|==|[<>]", text) and len(variables) == 1:
        return next(iter(variables)) + text
    return None


class _Slip:
    """An error with the expression, the node where it is, and the variables."""

    def __init__(self, error: ProgramError, tree: nodes.Expr, variables: Mapping[str, object]) -> None:
        self.error = error
        self.tree = tree
        self.variables = variables
        self.source = tree.source
        self.text = tree.source.text
        span = error.span
        assert span is not None
        self.span = span
        self.every = walk(tree)
        self.at = [node for node in self.every if (node.start, node.end) == (span.start, span.end)]
        self.step = next(self._steps(span), None)

    def _steps(self, span: Span) -> Iterator[tuple[str, str, str]]:
        """Left operand, operator with the blanks around it, and right operand of the step of a chain at the span."""
        for node in self.every:
            if isinstance(node, nodes.Binary):
                ends = node.ends
            elif isinstance(node, nodes.Compare):
                ends = tuple(one.end for one in node.rest)
            else:
                continue
            for k, end in enumerate(ends):
                if (node.start, end) == (span.start, span.end):
                    start = ends[k - 1] if k else self._closed(node.first.end)
                    op = self.text.find(node.ops[k], start)
                    if op >= 0:
                        left, after = self.text[node.start : op], self.text[op + len(node.ops[k]) : end]
                        joint = left[len(left.rstrip()) :] + node.ops[k] + after[: len(after) - len(after.lstrip())]
                        yield left.rstrip(), joint, after.strip()

    def _closed(self, end: int) -> int:
        found = re.compile(r"[\s)]*").match(self.text, end)
        return found.end() if found else end

    def changed(self, node: nodes.Node | Span, text: str, **more: Any) -> Repair:
        """The expression with `text` in the place of `node`."""
        new = self.text[: node.start] + text + self.text[node.end :]
        return Repair(_all(self.source), new, **more)

    def calls(self) -> Iterator[nodes.Call]:
        """The call at the place of the error."""
        return (node for node in self.at if isinstance(node, nodes.Call))

    def text_of(self, node: nodes.Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]


# --- names ---


def _names(slip: _Slip) -> Iterable[Repair]:
    """All unknown names at once: renamed, or given a value."""
    if slip.error.code is not Code.UNKNOWN_NAME:
        return
    derivative = re.match(r"\s*d\s*/\s*d(\w+)\b\s*", slip.text)
    if derivative and derivative[1] in slip.variables:
        yield Repair(_all(slip.source), slip.text[derivative.end() :], command="grad")
    unknown = {name for name in _wanted(slip.tree) if name not in slip.variables and not _is_known(name)}
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
        yield Repair(_all(slip.source), text, sure=True)
    if not missing or missing & called:
        return
    named = ", ".join(sorted(missing))
    remark = f"any value for {named}: {' '.join(f'{name}=...' for name in sorted(missing))}"
    for value in ("1", *_shapes(slip.variables)):
        yield Repair(_all(slip.source), text, values=dict.fromkeys(sorted(missing), value), remark=remark)


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


def _shadowed(slip: _Slip) -> Iterable[Repair]:
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


# --- calls ---


def _products(slip: _Slip) -> Iterable[Repair]:
    """`3(x+1)`: what is called is no function, and a product is meant. `x.shape()`: no parentheses."""
    if slip.error.code is not Code.NOT_CALLABLE:
        return
    text = slip.text
    for call in slip.calls():
        if isinstance(call.function, nodes.Attribute) and not call.args and not call.keywords:
            yield slip.changed(call, slip.text_of(call.function))
        opened = re.compile(r"[\s)]*").match(text, call.function.end)
        hides = isinstance(call.function, nodes.Name) and call.function.id in FUNCTIONS
        if opened is not None and len(call.args) == 1 and not hides:
            yield Repair(_all(slip.source), f"{text[: opened.end()].rstrip()}*{text[opened.end() :]}", sure=True)


def _arguments(slip: _Slip) -> Iterable[Repair]:
    """Numbers and lists where tensors are wanted, tensors where a list of them is, no `dim`."""
    if slip.error.type_name != "TypeError" or slip.error.code is Code.NOT_A_TENSOR:
        return
    yield from _bounds(slip)
    for call in slip.calls():
        if len(call.args) > 1:
            first, last = call.args[0], call.args[-1]
            yield slip.changed(Span(slip.source, first.start, last.end), f"[{slip.text[first.start : last.end]}]")
        wrapped = [(one, _as_tensor(slip, one)) for one in call.args]
        numbers = [(one, text) for one, text in wrapped if text is not None]
        if numbers:
            yield slip.changed(*numbers[0])
            yield _with(slip, numbers)
        close = slip.text.rfind(")", call.start, call.end)
        if call.args and close > 0:
            yield slip.changed(Span(slip.source, close, close), ", dim=-1")
            yield slip.changed(Span(slip.source, close, close), ", 0, 1")
        if len(call.args) > 2:
            first, last = call.args[1], call.args[-1]
            yield slip.changed(Span(slip.source, first.start, last.end), f"({slip.text[first.start : last.end]})")
        for keyword in call.keywords:
            if keyword.name in _OTHER_KEYWORDS:
                yield slip.changed(Span(slip.source, keyword.start, keyword.start + len(keyword.name)), _OTHER_KEYWORDS[keyword.name])
        for keyword in call.keywords:
            yield slip.changed(Span(slip.source, *_with_comma(slip, keyword)), "")


def _bounds(slip: _Slip) -> Iterable[Repair]:
    """`max(x, 0)`, which is the largest along a dimension, where the larger of two is meant."""
    for node in slip.every:
        if isinstance(node, nodes.Call) and len(node.args) == 2 and isinstance(node.args[1], nodes.Constant):
            name, (x, bound) = slip.text_of(node.function), (slip.text_of(one) for one in node.args)
            if name in ("max", "min"):
                remark = f"the {'larger' if name == 'max' else 'smaller'} of {x} and {bound}"
                yield slip.changed(node, f"clamp({x}, {'min' if name == 'max' else 'max'}={bound})", remark=remark, sure=True)


def _with_comma(slip: _Slip, keyword: nodes.Node) -> tuple[int, int]:
    before = re.search(r",\s*$", slip.text[: keyword.start])
    return (before.start() if before else keyword.start), keyword.end


def _with(slip: _Slip, edits: list[tuple[nodes.Expr, str]]) -> Repair:
    text = slip.text
    for node, new in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: node.start] + new + text[node.end :]
    return Repair(_all(slip.source), text)


def _as_tensor(slip: _Slip, node: nodes.Expr) -> str | None:
    """A number or a list of them as a tensor; None for what is neither."""
    text = slip.text_of(node)
    if isinstance(node, nodes.Name):
        value = slip.variables.get(node.id)
        if isinstance(value, (list, tuple)) or type(value) in (int, float, bool):
            return f"tensor({text}, dtype=torch.float32)"
        return None
    names = [one for one in walk(node) if isinstance(one, (nodes.Name, nodes.Call))]
    if names or not re.search(r"\d", text):
        return None
    return f"tensor({_floats(text)})"


def _floats(text: str) -> str:
    """The text with a point behind each integer."""
    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"\1.", text)


# --- operators ---


def _operators(slip: _Slip) -> Iterable[Repair]:
    """`^` for powers, functions and lists as operands, and matrices that do not fit."""
    if slip.step is None:
        return
    left, joint, right = slip.step
    op = joint.strip()
    span = slip.span

    def pair(a: str, b: str) -> Repair:
        return slip.changed(span, a + joint + b)

    if slip.error.code is Code.NO_DERIVATIVE and op == "//":
        yield Repair(_all(slip.source), slip.text.replace("//", "/"))
    if op == "^":
        yield Repair(_all(slip.source), slip.text.replace("^", "**"))
    if slip.error.type_name == "TypeError":
        for operand in (left, right):
            made = ""
            if re.fullmatch(r".*\.[A-Za-z_]\w*", operand):
                made = f"{operand}()"
            elif operand.startswith(("[", "(")) and re.search(r"\d", operand):
                made = f"tensor({_floats(operand)})"
            if made:
                yield pair(made, right) if operand is left else pair(left, made)
    if slip.error.code in (Code.MATRIX_PRODUCT, Code.SHAPE) and op == "@":
        yield pair(left, f"{_atom(right)}.T")
        yield pair(f"{_atom(left)}.T", right)
        yield slip.changed(span, f"({left} * {right})")
    if slip.error.code is Code.BROADCAST:
        yield pair(left, f"{_atom(right)}[:, None]")
        yield pair(f"{_atom(left)}[:, None]", right)


def _atom(text: str) -> str:
    return text if re.fullmatch(r"\w+|\(.*\)|\w+\([^()]*\)", text) else f"({text})"


def _truth(slip: _Slip) -> Iterable[Repair]:
    """`and`, `or`, `not`, chains and conditions element by element."""
    if slip.error.code is not Code.TRUTH_OF_MANY:
        return
    for node in slip.every:
        if isinstance(node, nodes.Conditional):
            test, body, other = (slip.text_of(one) for one in (node.test, node.body, node.orelse))
            yield slip.changed(node, f"where({test}, {body}, {other})")
        elif isinstance(node, nodes.BoolOp):
            sign = " & " if node.op == "and" else " | "
            yield slip.changed(node, sign.join(f"({slip.text_of(item).strip('()')})" for item in node.items))
        elif isinstance(node, nodes.Unary) and node.op == "not":
            yield slip.changed(node, f"~({slip.text_of(node.operand)})")
        elif isinstance(node, nodes.Compare) and len(node.ops) > 1:
            operands = [slip.text_of(one) for one in (node.first, *node.rest)]
            pairs = zip(operands, node.ops, operands[1:], strict=False)
            yield slip.changed(node, "(" + " & ".join(f"({a} {op} {b})" for a, op, b in pairs) + ")")
        elif (
            isinstance(node, nodes.Call)
            and isinstance(node.function, nodes.Name)
            and node.function.id in ("max", "min")
            and len(node.args) == 2
        ):
            yield slip.changed(node.function, f"{node.function.id}imum")


# --- attributes ---


def _attributes(slip: _Slip) -> Iterable[Repair]:
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
        elif node.name in FUNCTIONS and owner not in ("torch",):
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


# --- kinds of values ---


def _kinds(slip: _Slip) -> Iterable[Repair]:
    """Integers as floats and floats as integers, in the text and among the variables."""
    error = slip.error
    if error.code is Code.INTEGERS_REQUIRE_GRAD:
        yield Repair(_all(slip.source), _floats(slip.text))
        for node in slip.every:
            if isinstance(node, nodes.Call) and node.keywords:
                yield slip.changed(node, re.sub(r"^(\w+(?:\.\w+)*)\((.*?),", lambda m: f"{m[1]}({_floats(m[2])},", slip.text_of(node)))
    if error.code is Code.NOT_A_TENSOR:
        yield from _bounds(slip)
        text = slip.text.strip()
        for form in ("({}).values", "({})[0]", "({}).float()", "{}()"):
            remark = "along a dimension" if form.endswith(".values") else ""
            yield Repair(
                _all(slip.source),
                form.format(text),
                remark=remark,
                sure=bool(remark) and re.match(r"(max|min|\w+\.(max|min))\b", text) is not None,
            )
    if error.code is Code.NO_GRAPH:
        given = [name for name, value in slip.variables.items() if not (type(value) is Tensor and value.requires_grad)]
        yield from (Repair(leaves=[name]) for name in given)
        cut = re.sub(r"\.(?:detach|data|item|numpy|tolist|long|int|round|floor|sign)(?:\(\))?", "", slip.text)
        if cut != slip.text:
            yield Repair(_all(slip.source), cut)
    if error.code is Code.NUMPY_OF_REQUIRES_GRAD:
        yield Repair(_all(slip.source), slip.text.replace(".numpy()", ".detach().numpy()"))
    if slip.source.name != "<expression>" and slip.text.strip().startswith("{"):
        yield Repair(_all(slip.source), slip.text.replace("{", "[").replace("}", "]"))
    if error.code is Code.LEAF_WRITTEN_IN_PLACE:
        yield Repair(_all(slip.source), re.sub(r"(?<=\w)_\(", "(", slip.text))
    if error.code is Code.MANY_ELEMENTS_AS_NUMBER:
        yield Repair(_all(slip.source), re.sub(r"\.item\(\)", ".tolist()", slip.text))
    leaves = {name: value for name, value in slip.variables.items() if type(value) is Tensor and value.is_leaf}
    used = [node.id for node in slip.every if isinstance(node, nodes.Name) and node.id in leaves]
    for name in reversed(dict.fromkeys(used)):
        value = leaves[name]
        if value.requires_grad and value.dtype.is_floating_point and value.array.size < 1000 and (value.array == value.array.round()).all():
            yield Repair(exact=[name])
    if error.code in (Code.DTYPES_DIFFER, Code.NO_KERNEL, Code.NO_OUTPUT_DTYPE, Code.RESULT_DTYPE) or error.type_name == "RuntimeError":
        for node in slip.every:
            if isinstance(node, nodes.Name) and node.id in leaves and leaves[node.id].dtype is not dtypes.get_default():
                yield slip.changed(node, f"{node.id}.float()")


_RULES: tuple[Callable[[_Slip], Iterable[Repair]], ...] = (
    _names,
    _shadowed,
    _products,
    _operators,
    _truth,
    _attributes,
    _arguments,
    _kinds,
)
