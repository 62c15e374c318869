"""What the writer of an expression may have meant, where it ended with an error: texts to put in its place, the likeliest first.

Most of them are guesses. The command line tries each before it shows it; the prompt shows those that are sure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from gradcli.analysis.operands import walk
from gradcli.core.functions._index import FUNCTIONS
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, GradcliError, LanguageError, ProgramError, Repair
from gradcli.lang.syntax import nodes, parser
from gradcli.session import slip_names, slip_operators
from gradcli.session.notation import rewritten, with_commas
from gradcli.session.slip import Slip, all_of, floats
from gradcli.source import Source, Span

#: arguments of other libraries
_OTHER_KEYWORDS = {"axis": "dim", "keepdims": "keepdim", "axes": "dim"}
#: characters of a text that gets repairs; rules look at every name, and compare it with all known ones
_LONGEST = 1000


def repairs(error: GradcliError, variables: Mapping[str, object], *, statements: bool = False) -> list[Repair]:
    """What to type instead of an expression, or an input with `statements`, that ended with `error`; nothing for other text."""
    if error.span is None or len(error.span.source.text) > _LONGEST:
        return []
    source = error.span.source
    if not source.name.startswith("<") and "\n" in source.text.strip():
        return []
    if isinstance(error, LanguageError):
        found = (None if statements else _value(source) or _eaten(source, variables)) or rewritten(
            source.text.rstrip(), statements=statements
        )
        sure = [] if found is None else [Repair(all_of(source), found.strip(), sure=True)]
        listed = with_commas(source.text)
        return sure if listed is None or listed == found else [*sure, Repair(all_of(source), listed)]
    try:
        tree = parser.parse_expression(source)
    except LanguageError:
        return []
    assert isinstance(error, ProgramError)
    slip = Slip(error, tree, variables)
    made: dict[tuple[object, ...], Repair] = {}
    for rule in _RULES:
        for one in rule(slip):
            made.setdefault((one.span, one.text, *one.values.items(), *one.exact, *one.leaves, *one.options, one.command), one)
    return list(made.values())


def _value(source: Source) -> str | None:
    """What may be meant by a value of NAME=VALUE that is nothing, or a range with a colon."""
    if not source.name.startswith("<value of ") or source.name == "<value of -v>":
        return None
    if not source.text.strip():
        return "1"
    number = r"\s*(-?[\d.]+)\s*"
    ends = re.fullmatch(rf"{number}:{number}(?::\s*(\d+))?", source.text)
    return f"{ends[1]}..{ends[2]}{f':{ends[3]}' if ends[3] else ''}" if ends else None


def _eaten(source: Source, variables: Mapping[str, object]) -> str | None:
    """An expression with a shell's `$x` for a name; or whose first name the shell has taken, where there is only one to put back."""
    text = source.text.strip()
    if "$" in text:
        return re.sub(r"\$\{?([A-Za-z_]\w*)\}?", r"\1", text)
    if source.name == "<expression>" and re.match(r"[*/@%]|==|[<>]", text) and len(variables) == 1:
        return next(iter(variables)) + text
    return None


# --- calls ---


def _products(slip: Slip) -> Iterable[Repair]:
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
            yield Repair(all_of(slip.source), f"{text[: opened.end()].rstrip()}*{text[opened.end() :]}", sure=True)


def _arguments(slip: Slip) -> Iterable[Repair]:
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


def _bounds(slip: Slip) -> Iterable[Repair]:
    """`max(x, 0)`, which is the largest along a dimension, where the larger of two is meant."""
    for node in slip.every:
        if isinstance(node, nodes.Call) and len(node.args) == 2 and isinstance(node.args[1], nodes.Constant):
            name, (x, bound) = slip.text_of(node.function), (slip.text_of(one) for one in node.args)
            if name in ("max", "min"):
                remark = f"the {'larger' if name == 'max' else 'smaller'} of {x} and {bound}"
                yield slip.changed(node, f"clamp({x}, {'min' if name == 'max' else 'max'}={bound})", remark=remark, sure=True)


def _with_comma(slip: Slip, keyword: nodes.Node) -> tuple[int, int]:
    before = re.search(r",\s*$", slip.text[: keyword.start])
    return (before.start() if before else keyword.start), keyword.end


def _with(slip: Slip, edits: list[tuple[nodes.Expr, str]]) -> Repair:
    text = slip.text
    for node, new in sorted(edits, key=lambda edit: -edit[0].start):
        text = text[: node.start] + new + text[node.end :]
    return Repair(all_of(slip.source), text)


def _as_tensor(slip: Slip, node: nodes.Expr) -> str | None:
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
    return f"tensor({floats(text)})"


# --- kinds of values ---


def _kinds(slip: Slip) -> Iterable[Repair]:
    """Integers as floats and floats as integers, in the text and among the variables."""
    error = slip.error
    if error.code is Code.INTEGERS_REQUIRE_GRAD:
        yield Repair(all_of(slip.source), floats(slip.text))
        for node in slip.every:
            if isinstance(node, nodes.Call) and node.keywords:
                yield slip.changed(node, re.sub(r"^(\w+(?:\.\w+)*)\((.*?),", lambda m: f"{m[1]}({floats(m[2])},", slip.text_of(node)))
    if error.code is Code.NOT_A_TENSOR:
        yield from _bounds(slip)
        text = slip.text.strip()
        for form in ("({}).values", "({})[0]", "({}).float()", "{}()"):
            remark = "along a dimension" if form.endswith(".values") else ""
            yield Repair(
                all_of(slip.source),
                form.format(text),
                remark=remark,
                sure=bool(remark) and re.match(r"(max|min|\w+\.(max|min))\b", text) is not None,
            )
    if error.code is Code.NO_GRAPH:
        given = [name for name, value in slip.variables.items() if not (type(value) is Tensor and value.requires_grad)]
        yield from (Repair(leaves=[name]) for name in given)
        cut = re.sub(r"\.(?:detach|data|item|numpy|tolist|long|int|round|floor|sign)(?:\(\))?", "", slip.text)
        if cut != slip.text:
            yield Repair(all_of(slip.source), cut)
    if error.code is Code.NUMPY_OF_REQUIRES_GRAD:
        yield Repair(all_of(slip.source), slip.text.replace(".numpy()", ".detach().numpy()"))
    if slip.source.name != "<expression>" and slip.text.strip().startswith("{"):
        yield Repair(all_of(slip.source), slip.text.replace("{", "[").replace("}", "]"))
    if error.code is Code.LEAF_WRITTEN_IN_PLACE:
        yield Repair(all_of(slip.source), re.sub(r"(?<=\w)_\(", "(", slip.text))
    if error.code is Code.MANY_ELEMENTS_AS_NUMBER:
        yield Repair(all_of(slip.source), re.sub(r"\.item\(\)", ".tolist()", slip.text))
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


_RULES: tuple[Callable[[Slip], Iterable[Repair]], ...] = (
    slip_names.unknown,
    slip_names.shadowed,
    _products,
    slip_operators.operators,
    slip_operators.truth,
    slip_names.missing_attributes,
    _arguments,
    _kinds,
)
