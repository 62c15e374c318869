"""An error as people read it: message, source line, carets under the exact span, labels, hints, chain of calls.

    AttributeError: module 'torch' has no attribute 'sinn'
      torch.sinn(x)
            ^^^^ did you mean sin, sinh, sinc?

Advice that begins with "try " is set as a block of its own, the word once and the commands below each other.
"""

from __future__ import annotations

import json

from gradcli.errors import GradcliError, Label
from gradcli.render.advice import advice, of_warning
from gradcli.render.drawing.excerpt import Excerpt, marked
from gradcli.render.drawing.folding import cut, fold_prose
from gradcli.render.escape import escape, escape_lines, shortened, width
from gradcli.render.look import PLAIN, Look, highlighted
from gradcli.source import Span

_INDENT = "  "
#: the most calls of a chain that are shown, the innermost ones, and the most labels
_MAX_CALLS = _MAX_LABELS = 8
#: the most characters of a message, of a name, and of all hints or labels together: a diagnostic has at most some 4 kB
_MESSAGE, _NAME, _HINTS = 1500, 100, 1000
#: remarks of up to this many characters stand beside the carets
_SHORT = 72
#: the most columns of a source line
_COLUMNS = 100
#: the name of text from the command line, for which no file and line are shown
_PLACELESS = "<expression>"


def diagnostic(error: GradcliError, look: Look = PLAIN) -> str:
    """The whole report, ending with a line end; source lines are cut to the width of a terminal, to 100 columns elsewhere."""
    kind = shortened(error.kind, _NAME)
    head, *more = _folded(f"{kind}: {shortened(escape_lines(error.message), _MESSAGE)}", look).split("\n")
    out = [head.replace(f"{kind}:", look.paint(f"{kind}:", "error"), 1), *more]
    beside, below = _sort_hints(error)
    if error.span is not None:
        out += _excerpts(error.span, error.labels, beside, look)
    elif beside:
        below = [beside, *below]
    out += _hints(below, look)
    if error.span is not None:
        out += _calls(error, look)
    return "\n".join(line.rstrip() for line in out) + "\n"


def _folded(text: str, look: Look) -> str:
    """`text`, folded where it goes to a terminal."""
    return text if look.columns is None else fold_prose(text, look.columns, 2)


def _columns(look: Look) -> int:
    return _COLUMNS if look.columns is None else min(max(look.columns - len(_INDENT) - 6, 20), _COLUMNS)


def warning(category: str, message: str, span: Span | None, look: Look = PLAIN) -> str:
    """A warning as Python prints it, with file, line number and source line where the text comes from a file."""
    place, line = "", ""
    if span is not None and span.source.name != _PLACELESS:
        number, _ = span.source.position(span.start)
        place = f"{_shown_name(span)}:{number}: "
        line = Excerpt(span, _columns(look)).line
    category = shortened(category, _NAME)
    text = _folded(f"{place}{category}: {shortened(escape_lines(message), _MESSAGE)}", look).removeprefix(place)
    text = look.paint(place.rstrip(), "dim") + " " * bool(place) + text.replace(f"{category}:", look.paint(f"{category}:", "warning"), 1)
    below = [highlighted(line, look)] if line else []
    if advised := of_warning(span):
        below.append(escape(advised))
    return "".join(f"{one}\n" for one in (text, *(_INDENT + one for one in below)))


def error_json(error: GradcliError) -> str:
    """The error as one line of JSON."""
    return json.dumps({"gradcli": 1, "ok": False, "error": error_object(error)}) + "\n"


def error_object(error: GradcliError) -> dict[str, object]:
    """The error as an object for JSON: kind, message, span, exit code, and hints where there are any."""
    message = shortened(error.message, _MESSAGE)
    content: dict[str, object] = {
        "kind": shortened(error.kind, _NAME),
        "message": message,
        "span": _span_json(error.span),
        "exit": error.exit_code,
    }
    if hints := _within(advice(error)):
        content["hints"] = hints
    return content


def _within(texts: list[str]) -> list[str]:
    """As many of `texts` as there is room for; the first are the likeliest."""
    found: list[str] = []
    for text in texts:
        room = _HINTS - sum(map(len, found))
        if found and len(text) > room:
            break
        found.append(shortened(text, _HINTS))
    return found


def _span_json(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    line, column = span.source.position(span.start)
    text = shortened(span.text, _MESSAGE)
    return {
        "source": shortened(span.source.name, 4 * _NAME),
        "start": span.start,
        "end": span.end,
        "line": line,
        "column": column,
        "text": text,
    }


def _sort_hints(error: GradcliError) -> tuple[str, list[str]]:
    """The short remark that stands beside the carets, and what goes below."""
    on_span = [label.text for label in error.labels if label.span == error.span]
    hints = _within(advice(error))
    if on_span:
        return shortened(on_span[0], _HINTS), hints
    if hints and not hints[0].startswith("try ") and "\n" not in hints[0] and len(hints[0]) <= _SHORT:
        return hints[0], hints[1:]
    return "", hints


def _hints(hints: list[str], look: Look) -> list[str]:
    """The lines of hints. Commands to try stand below each other and are not folded; where one is too long, remarks begin new lines."""
    out = []
    tries = [escape_lines(hint).removeprefix("try ") for hint in hints if hint.startswith("try ")]
    narrow = look.columns is not None and any(width(line) + 8 > look.columns for text in tries for line in text.split("\n"))
    lead = "try   "
    for hint in hints:
        if hint.startswith("try "):
            text, blank, remark = escape_lines(hint).removeprefix("try ").partition("  (" if narrow else "\0")
            text = f"{text.rstrip()}\n        ({remark}" if blank else text
            text = look.paint(lead, "dim") + text
            lead = "      "
        else:
            text = escape_lines(hint)
            text = text if look.columns is None else fold_prose(text, look.columns - len(_INDENT))
        out += [_INDENT + line for line in text.split("\n")]
    return out


def _excerpts(span: Span, labels: list[Label], beside: str, look: Look) -> list[str]:
    out = []
    if place := _place(span):
        out.append(_INDENT + look.paint(place, "dim"))
    window = Excerpt(span, _columns(look))
    out.append(_INDENT + highlighted(window.line, look))
    out += marked(window.under(span, "^"), "caret", escape(beside), look, _INDENT)
    number = window.number
    for label in labels[:_MAX_LABELS]:
        if label.span == span:
            continue
        if label.span.source == span.source and label.span.source.position(label.span.start)[0] == number:
            shown = window
        else:
            shown = Excerpt(label.span, _columns(look))
            out.append(_INDENT + look.paint(_place(label.span) or f"line {shown.number}", "dim"))
            out.append(_INDENT + highlighted(shown.line, look))
        out += marked(shown.under(label.span, "-"), "label", shortened(escape(label.text), 2 * _NAME), look, _INDENT)
    return out


def _shown_name(span: Span) -> str:
    return shortened(escape(span.source.name), 4 * _NAME)


def _place(span: Span) -> str:
    source = span.source
    line, _ = source.position(span.start)
    several = "\n" in source.text.rstrip("\n") or source.name == "<stdin>"
    if source.name == _PLACELESS:
        return f"line {line}" if several else ""
    name = _shown_name(span).removeprefix("<").removesuffix(">")
    return f"{name}:{line}" if several or name == source.name else name


def _calls(error: GradcliError, look: Look) -> list[str]:
    """The calls that led here, innermost first, as they are of most use."""
    out = []
    columns = _columns(look)
    for span, name in list(reversed(error.calls))[:_MAX_CALLS]:
        line, _ = span.source.position(span.start)
        head = f"in {shortened(escape(name), _NAME)}, called on line {line}:"
        text = cut(" ".join(escape(span.text[:_MESSAGE]).split()), columns - len(head))
        out.append(f"{_INDENT}{look.paint(head, 'dim')} {highlighted(text, look)}")
    if len(error.calls) > _MAX_CALLS:
        out.append(f"{_INDENT}... and {len(error.calls) - _MAX_CALLS} more calls")
    return out
