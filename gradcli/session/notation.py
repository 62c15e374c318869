"""Notation of mathematics and of other languages, rewritten as the language has it: `2x`, `|x|`, `x²`, `sin x`, `c ? a : b`.

The rules work on text that did not parse. What they make is parsed by the parser itself, and only kept where it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gradcli.core.functions._index import FUNCTIONS
from gradcli.errors import LanguageError, LimitError
from gradcli.lang.names import bare_names, builtins
from gradcli.lang.syntax import parser
from gradcli.source import Source

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿˣ", "0123456789-nx")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_RAISED = r"([⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿˣ]+)"
#: characters with one meaning
_CHARACTERS = {
    **dict.fromkeys("×·⋅∙∗✕", "*"),
    **dict.fromkeys("÷∕⁄", "/"),
    **dict.fromkeys("−–—", "-"),
    **dict.fromkeys("“”„«»", '"'),
    **dict.fromkeys("‘’", "'"),
    "π": "pi",
    "∞": "inf",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "½": "(1/2)",
    "¼": "(1/4)",
    "¾": "(3/4)",
    "∑": "sum",
    "Σ": "sum",
    "∏": "prod",
    "σ": "sigmoid",
    "\u00a0": " ",
}
_WORD = r"[A-Za-z_]\w*"
_NUMBER = r"(?<![\w.])(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
#: what a function without parentheses takes: a sign, factors written together, a power
_ARGUMENT = rf"-?(?:\d+(?:\.\d*)?\*?)?(?:{_WORD}(?:\.{_WORD})*|(?<=\d)|(?<=\*))(?:\([^()]*\)|\[[^\[\]]*\])?(?:\*\*\w+)?"
#: words between values that are no names
_OPERATORS = frozenset({"and", "or", "not", "in", "is", "if", "else", "for", "lambda"})
#: at most so many rules change a text, one after the other
_ROUNDS = 8
#: longer texts are no slips of one line
_MOST = 500


def rewritten(text: str, *, statements: bool = False) -> str | None:
    """`text` with its notation replaced until it parses, as an expression or as `statements`; None where it never does."""
    if len(text) > _MOST or "\n" in text.strip():
        return None
    for _ in range(_ROUNDS):
        before = text
        for rule in _RULES:
            changed = text if statements and rule is _WITHOUT_NAME else rule(text)
            if changed != text:
                if _parses(changed, statements):
                    return changed
                text = changed
        if text == before:
            return None
    return None


def with_commas(text: str) -> str | None:
    """`text` with commas for the blanks between values; None where that does not parse."""
    changed = re.sub(r"(?<=[\w)\]])\s+(?=[\w(\[.])", ", ", text)
    return changed if changed != text and len(text) <= _MOST and _parses(changed) else None


def _parses(text: str, statements: bool = False) -> bool:
    source = Source("<expression>", text)
    try:
        parser.parse_input(source) if statements else parser.parse_expression(source)
    except (LanguageError, LimitError):
        return False
    return True


def _substitution(pattern: str, into: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    """A rule that replaces what matches, outside of strings."""

    def rule(text: str) -> str:
        if "'" in text or '"' in text:
            return text
        return re.sub(pattern, into, text)

    return rule


def _characters(text: str) -> str:
    text = re.sub(r"(?<=[\w)])([πσ])|([πσ])(?=\w)", r" \1\2 ", text)
    return text.translate({ord(one): into for one, into in _CHARACTERS.items()}).translate(_SUBSCRIPTS)


def _power(found: re.Match[str]) -> str:
    exponent = found[1].translate(_SUPERSCRIPTS)
    return f"**{exponent}" if exponent.isalnum() else f"**({exponent})"


def _applied(found: re.Match[str]) -> str:
    name, argument = found[1], found[2]
    return f"{name}({argument})" if name in FUNCTIONS or name in bare_names.ALIASES or name in builtins.FUNCTIONS else found[0]


def _product(found: re.Match[str]) -> str:
    left, right = found[1], found[2]
    if left in _OPERATORS or (re.match(_WORD, right) and right in _OPERATORS):
        return found[0]
    return f"{left}*{right}"


def _choice(text: str) -> str:
    """`c ? a : b`; the parts may be choices themselves."""
    condition, mark, rest = text.partition("?")
    if not mark:
        return text
    depth = 0
    for at, one in enumerate(rest):
        depth += one == "?"
        if one == ":":
            if depth == 0:
                # a number is a condition in other languages, and `where` takes comparisons
                test = condition.strip() if re.search(r"[<>!=]|\b(?:and|or|not)\b", condition) else f"{condition.strip()} != 0"
                return f"where({test}, {_choice(rest[:at].strip())}, {_choice(rest[at + 1 :].strip())})"
            depth -= 1
    return text


def _bars(text: str) -> str:
    """`|x|`, with the bars in pairs."""
    return re.sub(r"\|([^|]+)\|", r"abs(\1)", text) if text.count("|") % 2 == 0 else text


def _brackets(text: str) -> str:
    """Brackets that are missing at the end, or one too many there."""
    pairs = {")": "(", "]": "[", "}": "{"}
    open_: list[str] = []
    for at, one in enumerate(text):
        if one in "([{":
            open_.append(one)
        elif one in pairs:
            if not open_ or open_[-1] != pairs[one]:
                return text[:at] + text[at + 1 :] if not text[at + 1 :].strip() else text
            open_.pop()
    closing = {"(": ")", "[": "]", "{": "}"}
    return text + "".join(closing[one] for one in reversed(open_))


#: `y = x**2` and `f(x) = x**2`, without what stands before the sign; in an input of the prompt it is an assignment
_WITHOUT_NAME = _substitution(rf"^\s*{_WORD}(?:\([\w, ]*\))?\s*=(?!=)\s*", "")

#: the rules in the order in which they are tried
_RULES: tuple[Callable[[str], str], ...] = (
    _characters,
    _substitution(rf"\b({_WORD}){_RAISED}\s*(\([^()]*\))", lambda m: f"{m[1]}{m[3]}**{m[2].translate(_SUPERSCRIPTS)}"),
    _substitution(_RAISED, _power),
    _substitution(r"[√]\s*(\([^()]*\))", r"sqrt\1"),
    _substitution(rf"[√]\s*({_WORD}|\d+(?:\.\d*)?)", r"sqrt(\1)"),
    _substitution(r"\s*&&\s*", " and "),
    _substitution(r"\s*\|\|\s*", " or "),
    _substitution(r"<>", "!="),
    _substitution(r"\b(\d+)!(?!=)", r"math.factorial(\1)"),
    _substitution(rf"\b({_WORD}|\([^()]*\))!(?!=)", r"exp(lgamma(\1 + 1))"),
    _substitution(r"!(?!=)\s*", "not "),
    _WITHOUT_NAME,
    _substitution(r"(?<=\d);(?=[\s\d.-])", ","),
    _substitution(r"(\d+(?:\.\d*)?)%(?=\s*(?:$|[-+*/)]))", r"(\1/100)"),
    _bars,
    _choice,
    _substitution(rf"\b({_WORD})\s+(?!(?:and|or|if|else|in|is|not|for)\b)({_ARGUMENT})", _applied),
    _substitution(rf"({_NUMBER})\s*({_WORD})(?!\w)", _product),
    _substitution(rf"({_NUMBER})\s*(\()", r"\1*\2"),
    _substitution(r"(\))\s*(\()", r"\1*\2"),
    _substitution(rf"(\)|\])\s*({_WORD}|\d)", _product),
    _substitution(r"(?<=\d)\s+(?=-?[\d.])", ","),
    _substitution(rf"\b({_WORD})\s+({_WORD}|\d|\()", _product),
    _substitution(r"\s*;", ","),
    _brackets,
    _substitution(r"\s*[,;:=]+\s*$", ""),
)
