"""Repairs of operators: powers, matrices that do not fit, operands of other types, conditions element by element."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradcli.errors import Code, Repair
from gradcli.lang.syntax import nodes
from gradcli.session.slip import Slip, all_of, floats


def operators(slip: Slip) -> Iterable[Repair]:
    """`^` for powers, functions and lists as operands, and matrices that do not fit."""
    if slip.step is None:
        return
    left, joint, right = slip.step
    op = joint.strip()
    span = slip.span

    def pair(a: str, b: str) -> Repair:
        return slip.changed(span, a + joint + b)

    if slip.error.code is Code.NO_DERIVATIVE and op == "//":
        yield Repair(all_of(slip.source), slip.text.replace("//", "/"))
    if op == "^":
        yield Repair(all_of(slip.source), slip.text.replace("^", "**"))
    if slip.error.type_name == "TypeError":
        for operand in (left, right):
            made = ""
            if re.fullmatch(r".*\.[A-Za-z_]\w*", operand):
                made = f"{operand}()"
            elif operand.startswith(("[", "(")) and re.search(r"\d", operand):
                made = f"tensor({floats(operand)})"
            if made:
                yield pair(made, right) if operand is left else pair(left, made)
    if slip.error.code in (Code.MATRIX_PRODUCT, Code.SHAPE) and op == "@":
        yield pair(left, f"{_atom(right)}.T")
        yield pair(f"{_atom(left)}.T", right)
        yield slip.changed(span, f"({left} * {right})")
    # operands that do not fit with one more dimension are not meant to have two
    if slip.error.code is Code.BROADCAST and "[:, None]" not in left + right:
        yield pair(left, f"{_atom(right)}[:, None]")
        yield pair(f"{_atom(left)}[:, None]", right)


def _atom(text: str) -> str:
    return text if re.fullmatch(r"\w+|\(.*\)|\w+\([^()]*\)", text) else f"({text})"


def truth(slip: Slip) -> Iterable[Repair]:
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
