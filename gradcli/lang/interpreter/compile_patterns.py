"""`match` statements: patterns as closures that test a value and note what the names are to be bound to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli import limits
from gradcli.core.calling.mappings import Mapping, table_of
from gradcli.core.tensor.state import state
from gradcli.errors import ProgramError
from gradcli.lang.interpreter.compile_context import Context, Frame, Run
from gradcli.lang.interpreter.compile_names import store
from gradcli.lang.interpreter.compile_operators import condition
from gradcli.lang.interpreter.compile_statements import block
from gradcli.lang.names import attributes
from gradcli.lang.syntax.nodes import AsPattern, Case, Constant, DictExpr, Expr, ListExpr, Match, Name, Starred, TupleExpr
from gradcli.lang.syntax.patterns import WILDCARD, alternatives, is_value
from gradcli.lang.values import types
from gradcli.lang.values.object_operations import OPS
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.user_classes import UserClass
from gradcli.lang.values.value_classes import MISSING

#: what names get when the whole pattern has matched
Found = list[tuple[Callable[[Frame, Any], None], Any]]
#: whether a value matches; the names are added to the list
Test = Callable[[Frame, Any, Found], bool]

#: types whose pattern may have the value itself as its only part
_WHOLE = (types.BOOL, types.INT, types.FLOAT, types.STR, types.LIST, types.TUPLE, types.DICT, types.SET, types.FROZENSET)


def pattern_test(pattern: Expr, context: Context) -> Test:
    """The test of a pattern."""
    others = alternatives(pattern)
    if len(others) > 1:
        return _any([pattern_test(one, context) for one in others])
    if isinstance(pattern, Constant) and (pattern.value is None or isinstance(pattern.value, bool)):
        wanted = pattern.value
        return lambda frame, value, found: value is wanted
    if is_value(pattern):
        return _value(pattern, context)
    if isinstance(pattern, Name):
        return _name(pattern.id, context)
    if isinstance(pattern, AsPattern):
        held, named = pattern_test(pattern.pattern, context), pattern_test(pattern.name, context)
        return lambda frame, value, found: held(frame, value, found) and named(frame, value, found)
    if isinstance(pattern, TupleExpr | ListExpr):
        return _sequence(pattern.items, context)
    if isinstance(pattern, DictExpr):
        return _mapping(pattern, context)
    return _class(pattern, context)


def _any(tests: list[Test]) -> Test:
    def test(frame: Frame, value: Any, found: Found) -> bool:
        size = len(found)
        for one in tests:
            if one(frame, value, found):
                return True
            del found[size:]
        return False

    return test


def _value(pattern: Expr, context: Context) -> Test:
    wanted = context.expression(pattern)

    def test(frame: Frame, value: Any, found: Found) -> bool:
        other = wanted(frame)
        state.origin = pattern
        return OPS.equal(value, other)

    return test


def _name(name: str, context: Context) -> Test:
    if name == WILDCARD:
        return lambda frame, value, found: True
    put = store(name, context)

    def test(frame: Frame, value: Any, found: Found) -> bool:
        found.append((put, value))
        return True

    return test


def _sequence(items: tuple[Expr, ...], context: Context) -> Test:
    """`[a, *rest]`: lists, tuples and ranges of so many items."""
    starred = [at for at, item in enumerate(items) if isinstance(item, Starred)]
    tests = [pattern_test(item.value if isinstance(item, Starred) else item, context) for item in items]
    count, at = len(items), starred[0] if starred else -1

    def test(frame: Frame, value: Any, found: Found) -> bool:
        if not isinstance(value, list | tuple | range) or (len(value) < count - 1 if starred else len(value) != count):
            return False
        limits.check_list(len(value))
        parts: list[Any] = list(value)
        if starred:
            end = len(parts) - (count - at - 1)
            parts = [*parts[:at], parts[at:end], *parts[end:]]
        return all(one(frame, part, found) for one, part in zip(tests, parts, strict=True))

    return test


def _mapping(pattern: DictExpr, context: Context) -> Test:
    """`{"a": x, **rest}`: dicts with at least these keys."""
    pairs = [(context.expression(key), pattern_test(value, context)) for key, value in pattern.items if key is not None]
    rest = [pattern_test(value, context) for key, value in pattern.items if key is None]

    def test(frame: Frame, value: Any, found: Found) -> bool:
        if not isinstance(value, dict | Mapping):
            return False
        table = table_of(value)
        keys = [key(frame) for key, _ in pairs]
        state.origin = pattern
        for key in keys:
            if not isinstance(key, str | int | float | bool | None):
                raise ProgramError("TypeError", f"a mapping pattern has keys of numbers and strings, not '{type_name(key)}'")
        if any(key not in table for key in keys):
            return False
        if not all(one(frame, table[key], found) for key, (_, one) in zip(keys, pairs, strict=True)):
            return False
        others = {key: held for key, held in table.items() if key not in keys}
        return all(one(frame, others, found) for one in rest)

    return test


def _class(pattern: Any, context: Context) -> Test:
    """`Point(1, y=b)`: instances of a class, whose attributes match."""
    owner = context.expression(pattern.function)
    positional = [pattern_test(one, context) for one in pattern.args]
    named = [(one.name, pattern_test(one.value, context)) for one in pattern.keywords]

    def test(frame: Frame, value: Any, found: Found) -> bool:
        cls = owner(frame)
        state.origin = pattern
        if not types.is_instance(value, cls):
            return False
        tests = named
        if positional:
            if cls in _WHOLE and len(positional) == 1:
                if not positional[0](frame, value, found):
                    return False
            else:
                tests = [*zip(_match_args(cls, len(positional)), positional, strict=False), *named]
        for name, one in tests:
            held = attributes.find_attribute(value, name)
            if held is MISSING or not one(frame, held, found):
                return False
        return True

    return test


def _match_args(cls: Any, count: int) -> tuple[str, ...]:
    found: Any = cls.find("__match_args__") if type(cls) is UserClass else MISSING
    names = found if isinstance(found, tuple) else ()
    if len(names) < count:
        text = f"{cls.name}() accepts {len(names)} positional sub-pattern{'' if len(names) == 1 else 's'} ({count} given)"
        raise ProgramError("TypeError", text, names=(type_name(cls),))
    if not all(isinstance(name, str) for name in names):
        raise ProgramError("TypeError", "__match_args__ elements must be strings")
    return names


# --- the statement ---


def case_test(case: Case, context: Context) -> Test:
    """Whether a value matches a case, its guard included; binds the names."""
    pattern = pattern_test(case.pattern, context)
    guard = None if case.guard is None else condition(case.guard, context)

    def test(frame: Frame, value: Any, found: Found) -> bool:
        if not pattern(frame, value, found):
            return False
        for bind, held in found:
            bind(frame, held)
        return guard is None or bool(guard(frame))

    return test


def match_(node: Match, context: Context) -> Run:
    """`match`: the body of the first case that the subject matches."""
    subject = context.expression(node.subject)
    cases = [(case_test(case, context), block(case.body, context)) for case in node.cases]

    def run(frame: Frame) -> Any:
        value = subject(frame)
        for test, body in cases:
            if test(frame, value, []):
                return body(frame)
        return None

    return run
