"""Every message of the parser, with the place it points at. Where Python has words for it, they are Python's."""

from __future__ import annotations

import sys

import pytest

from gradcli.errors import LanguageError
from gradcli.lang.syntax.parser import parse_expression, parse_file
from gradcli.source import Source


def error_of(text: str, parse: object = parse_file) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        parse(Source("t", text))  # type: ignore[operator]
    assert caught.value.span is not None
    return caught.value


def python_message(text: str) -> str:
    with pytest.raises(SyntaxError) as caught:
        compile(text, "t", "exec")
    return str(caught.value.msg)


# the text, and what the caret stands under; the message is CPython's
AS_PYTHON = [
    ("f() = 1", "f()"),
    ("(a, 1) = 2", "1"),
    ("x + 1 = 2", "x + 1"),
    ("a < b = c", "a < b"),
    ("lambda: 0 = 1", "lambda: 0"),
    ("f'{x}' = 1", "f'{x}'"),
    ("... = 1", "..."),
    ("True = 1", "True"),
    ("a = f() = b", "f()"),
    ("[x for x in y] = 1", "[x for x in y]"),
    ("(x for x in y) = 1", "(x for x in y)"),
    ("a if b else c = 1", "a if b else c"),
    ("*a = b", "*a"),
    ("*a, *b = c", "*a, *b"),
    ("x = *a", "*a"),
    ("return 1", "return 1"),
    ("break", "break"),
    ("continue", "continue"),
    ("for x in y:\n  pass\nelse:\n  break", "break"),
    ("while 1:\n  def f():\n    continue", "continue"),
    ("def f(a, a): pass", "a"),
    ("lambda a, a: 0", "a"),
    ("def f(a=1, b): pass", "b"),
    ("def f(*): pass", "*"),
    ("def f(*, **k): pass", "*"),
    ("def f(**k, a): pass", "a"),
    ("def f(/, a): pass", "/"),
    ("def f(a, /, b, /): pass", "/"),
    ("def f(*a, /): pass", "/"),
    ("f(a=1, a=2)", "a=2"),
    ("f(a=1, b)", "b"),
    ("f(**a, b)", "b"),
    ("f(**a, *b)", "*b"),
    ("f(a for a in b, c)", "a for a in b"),
    ("f(True=1)", "True"),
    ("f(a.b=1)", "a.b="),
    ("nonlocal x", "nonlocal x"),
    ("def f():\n  x = 1\n  global x", "global x"),
    ("def f():\n  print(x)\n  global x", "global x"),
    ("def f(x):\n  global x", "global x"),
    ("def f():\n  for x in y: pass\n  global x", "global x"),
    ("del f()", "f()"),
    ("del *a", "*a"),
    ("f() += 1", "f()"),
    ("(a, b) += 1", "(a, b)"),
    ("(a, b): int", "(a, b)"),
    ("f(): int", "f()"),
    ("(a.b := 1)", "a.b"),
    ("for f() in x: y", "f()"),
    ("[x for 1 in y]", "1"),
    ("with a as f(): b", "f()"),
    ("if x = 1: pass", "="),
    ("(a = 1)", "="),
    ("if x\n", "\n"),
    ("if x:\ny", "y"),
    ("for x in y:\n  if z:\n  w", "w"),
    ("def f():\npass", "pass"),
    ("try:\n  x\nexcept:\ny", "y"),
    ("try:\n  x\ny", "y"),
    ("x\n  y", "  "),
    ("if x:\n    a\n  b", "  "),
    ("if x:\n\ta\n        b", "        "),
    ("try:\n  x\nexcept:\n  y\nexcept A:\n  z", "except"),
    ("try:\n  x\nexcept A, B:\n  y", "A"),
    ("(", "("),
    ("f(a, b\nc = 1", "("),
    (")", ")"),
    ("(]", "]"),
    ("[1, 2\n}", "}"),
    ('"abc', '"'),
    ("'''abc", "'''"),
    ("f'{}'", "{}"),
    ("f'}'", "}"),
    ("f'{x'", "{"),
    ("f'{x:{y:{z}}}'", "{"),
    ("0777", "0777"),
    ("1__0", "1__0"),
    ("0b2", "2"),
    ("2x", "2"),
    ("0xg", "0x"),
    ("print x", "print"),
    ("exec 'x'", "exec"),
    ("a if b", "\n"),
    ("[*a for a in b]", "*"),
    ("{**a for a in b}", "**"),
    ("[a, b for a in c]", "a, b"),
    ("from a import b,", ","),
    ("x = \\ y", "\\"),
    ("x \u00d7 y", "\u00d7"),
]


@pytest.mark.parametrize(("text", "under"), AS_PYTHON)
def test_messages_of_python(text: str, under: str) -> None:
    error = error_of(text + "\n" if under == "\n" and not text.endswith("\n") else text)
    if sys.version_info[:2] == (3, 11):  # the Python these words are from
        assert error.message == python_message(text)
    assert error.span is not None
    assert error.span.text == under


OURS = [
    ("async def f(): pass", "async is not part of gradcli's language", "async"),
    ("x = await y", "await is not part of gradcli's language", "await"),
    (
        "match x:\n  case f(): pass\n  case a + b: pass",
        "this is no pattern: values, names, sequences, mappings, classes and | are",
        "a + b",
    ),
    ("type X = int", "type aliases are not part of gradcli's language", "type"),
    ("def f[T](x): pass", "type parameters are not part of gradcli's language", "["),
    ("try:\n  x\nexcept* A:\n  y", "except* is not part of gradcli's language", "*"),
    ("from . import a", "relative imports are not part of gradcli's language", "."),
    ("x = 3jk", "invalid imaginary literal", "3j"),
    ("x = 0x3j", "invalid hexadecimal literal", "0x3"),
    ("x = b'a'", "bytes literals are not part of gradcli's language", "b'"),
    ("na\u00efve = 1", "non-ASCII letters are refused in names: '\u00ef' (U+00EF)", "\u00ef"),
    ("x = 'a\0b'", "control character U+0000 is not allowed in the text", "\0"),
    ("x \x1b[31m", "control character U+001B is not allowed in the text", "\x1b"),
    ("x = '\ud800'", "lone surrogate U+D800 is not allowed in the text", "\ud800"),
    ("'\\x1'", "truncated \\xXX escape", "\\x1"),
    ("'\\U00110000'", "illegal Unicode character: the last one is \\U0010FFFF", "\\U00110000"),
    ("'\\N{NO SUCH}'", "unknown Unicode character name", "\\N{NO SUCH}"),
    ("f'{x!z}'", "f-string: invalid conversion character 'z': expected 's', 'r', or 'a'", "!z"),
    ("f'{lambda x: 1}'", "f-string: invalid syntax", ":"),
    ("1 +", "unexpected end of the text after '+'; expected an expression", ""),
    ("1 2", "unexpected '2' after '1'; expected an operator or the end of the line", "2"),
    ("f(,)", "unexpected ',' after '('; expected an expression or ')'", ","),
    ("x[]", "unexpected ']' after '['; expected an expression or ':'", "]"),
    ("for x y: z", "unexpected 'y' after 'x'; expected 'in'", "y"),
    ("else: x", "unexpected keyword 'else'; expected a statement", "else"),
    ("a.for", "unexpected keyword 'for' after '.'; expected a name", "for"),
    ("x = = 1", "unexpected '=' after '='; expected an expression", "="),
]


@pytest.mark.parametrize(("text", "message", "under"), OURS)
def test_messages_of_our_own(text: str, message: str, under: str) -> None:
    error = error_of(text)
    if under:
        assert error.message == message
        assert error.span is not None
        assert error.span.text == under
    else:
        assert error.message.replace("end of line", "end of the text") == message


ONE_OFF = [
    ("", "the expression is empty"),
    ("  # nothing", "the expression is empty"),
    ("x = 1", "an expression is wanted here, not an assignment; did you mean '=='?"),
    ("x += 1", "an expression is wanted here, not a statement: unexpected '+='"),
    ("x; y", "an expression is wanted here, not a statement: unexpected ';'"),
    ("for i in x: y", "an expression is wanted here, not a statement: unexpected 'for'"),
    ("import torch", "an expression is wanted here, not a statement: unexpected 'import'"),
    ("x\ny", "an expression is one line; this text goes on after it"),
    ("1 2", "unexpected '2' after '1'; expected an operator"),
    ("x)", "unmatched ')'"),
    ("*x", "can't use starred expression here"),
    ("x if y", "expected 'else' after 'if' expression"),
]


@pytest.mark.parametrize(("text", "message"), ONE_OFF)
def test_one_offs(text: str, message: str) -> None:
    assert error_of(text, parse_expression).message == message


#: what the grammar reads as an expression and is none of the patterns
NO_PATTERNS = (
    "{f(): x}",
    "{**1}",
    "int(**x)",
    "int(*x)",
    "f()(x)",
    "*x",
    "*x if x",
    "*False,",
    "[*False]",
    "[*x.y]",
    "*_",
    "(yield)",
    "x[1]",
)


@pytest.mark.parametrize("pattern", NO_PATTERNS)
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(LanguageError, match=r"this is no pattern|a starred pattern is a name inside a sequence"):
        parse_file(Source("<pattern>", f"match 1:\n    case {pattern}: pass\n"))


@pytest.mark.parametrize("pattern", ["[x, x]", "[x, [y, x]]", '{"a": x, **x}', "[x, 1] | [x, x]", "(1 as x) as x"])
def test_a_pattern_that_binds_a_name_twice(pattern: str) -> None:
    with pytest.raises(LanguageError, match="multiple assignments to name 'x' in pattern"):
        parse_file(Source("<pattern>", f"match 1:\n    case {pattern}: pass\n"))


@pytest.mark.parametrize("pattern", ["1 as _", "[1 as _]"])
def test_a_wildcard_is_no_name_of_a_pattern(pattern: str) -> None:
    with pytest.raises(LanguageError, match="cannot use '_' as a target"):
        parse_file(Source("<pattern>", f"match 1:\n    case {pattern}: pass\n"))


@pytest.mark.parametrize("text", ["yield *x", "y = yield *x", "return *x", "y = *x", "for i in *x: pass", "y += *x"])
def test_a_starred_expression_alone(text: str) -> None:
    with pytest.raises(LanguageError, match="can't use starred expression here"):
        parse_file(Source("<starred>", f"def f():\n    {text}\n"))


def test_hints_and_labels() -> None:
    assert error_of("2x").hints == ["a product is written 2*x..."]
    assert error_of("a && b").hints == ["logical and is written `and`"]
    assert error_of("f(a b)").hints == ["perhaps you forgot a comma"]
    assert error_of("a <> b").hints == ["`not equal` is written !="]
    assert error_of("!a").hints == ["negation is written `not x`"]
    assert error_of("x \u2212 1").hints == ["did you mean -?"]
    assert [label.span.start for label in error_of("[1, (2]").labels] == [4]
    assert [label.span.start for label in error_of("f(1, 2 3)").labels] == [1]


def test_the_first_error_in_the_text_is_reported() -> None:
    assert error_of("x y\nclass A: pass\n'open").span.start == 2  # type: ignore[union-attr]
    assert error_of("return 1\nx = = 2").message.startswith("unexpected '='")
