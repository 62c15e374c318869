"""Which expressions can have a plan, by their syntax: arithmetic, constant subscripts, functions that only compute, calls of modules."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradcli.lang.syntax import nodes

#: functions and methods that only compute: their results depend on nothing but their arguments, and their plain arguments on no tensor
FUNCTIONS = frozenset(
    {
        *("abs", "acos", "add", "asin", "atan", "binary_cross_entropy_with_logits", "clamp", "cos", "cosh", "div", "dot", "elu", "erf"),
        *("exp", "exp2", "expm1", "gelu", "huber_loss", "l1_loss", "leaky_relu", "log", "log10", "log1p", "log2", "log_softmax"),
        *("logsigmoid", "logsumexp", "matmul", "maximum", "mean", "minimum", "mish", "mm", "mse_loss", "mul", "mv", "neg", "norm"),
        *("pow", "reciprocal", "relu", "relu6", "rsqrt", "selu", "sigmoid", "silu", "sin", "sinh", "smooth_l1_loss", "softmax"),
        *("softplus", "sqrt", "square", "std", "sub", "sum", "tan", "tanh", "var"),
    }
)
_OPERATORS = frozenset(("+", "-", "*", "/", "**", "@"))
#: operators that are the same for all numbers, and have in-place statements
_ARITHMETIC = frozenset(("+", "-", "*", "/"))
_IN_TESTS = frozenset(("+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">="))
#: what stands between `torch` and a function
_MODULES = frozenset(("nn", "functional"))
_NUMBERS = frozenset((int, float))
_PLAIN = frozenset((int, float, bool, str, type(None)))

#: expressions with more parts have no plan as a whole
_MOST = 64
#: a call counts as so many operators, since a plan also saves finding the function, and so does that of a module; a plan gains only for
#: more than the least
_CALL, _MODULE, _LEAST = 2, 3, 2


class Leaves(NamedTuple):
    """What an expression begins with."""

    #: names, and gradients (`x.grad`), each as often as it stands there
    names: list[nodes.Expr]
    #: what is called and may be a module: names, and attributes of names
    modules: list[nodes.Expr]
    #: numbers beside `+`, `-`, `*` and `/`: constants, or `-` before one
    numbers: list[nodes.Expr]
    #: what is equal for expressions that call no modules and differ in the values of `numbers` alone
    shape: list[object]

    def values(self) -> list[float]:
        """The values of the numbers."""
        return [value_of(number) for number in self.numbers]


def leaves_of(node: nodes.Expr, least: int = _LEAST, modules: bool = True) -> Leaves | None:
    """The leaves of an expression that can have a plan; None for any other expression.

    Expressions of no more than `least` operators have none. Without `modules`, nothing that may be one is called.
    """
    found = Leaves([], [], [], [])
    stack: list[nodes.Expr] = [node]
    parts = work = 0
    while stack:
        at = stack.pop()
        parts += 1
        visit = _VISITS.get(type(at))
        operators = None if visit is None else visit(at, found, stack)
        if operators is None or parts + len(found.numbers) > _MOST or (found.modules and not modules):
            return None
        work += operators
    return found if work > least and found.names else None


# Each of these takes a node apart: it notes leaves, and puts the parts that remain on the stack. It returns as how many operators the
# node counts, or None where the expression has no plan.


def _of_name(node: nodes.Name, found: Leaves, stack: list[nodes.Expr]) -> int:
    found.names.append(node)
    found.shape.append(node.id)
    return 0


def _of_constant(node: nodes.Constant, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    found.shape.append((type(node.value), node.value))
    return 0 if type(node.value) in _PLAIN else None


def _of_unary(node: nodes.Unary, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    found.shape.append(nodes.Unary)
    stack.append(node.operand)
    return 1 if node.op == "-" else None


def _of_binary(node: nodes.Binary, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    if not _OPERATORS.issuperset(node.ops):
        return None
    operators = len(node.ops)
    found.shape.append(node.ops)
    for operand in (node.first, *node.rest):
        if is_number(operand) and node.ops[0] in _ARITHMETIC:
            operators += type(operand) is nodes.Unary
            found.numbers.append(operand)
            found.shape.append(type(value_of(operand)))
        else:
            stack.append(operand)
            found.shape.append(None)
    return operators


def _of_call(node: nodes.Call, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    function = node.function
    method = function.name if type(function) is nodes.Attribute else None
    owner = function.value if type(function) is nodes.Attribute else function
    if (getattr(function, "id", "") if method is None else method) in FUNCTIONS:
        operators = _CALL
        stack.append(owner)
    elif _may_be_module(node, owner):
        operators = _MODULE
        found.modules.append(function)
    else:
        return None
    names = [keyword.name for keyword in node.keywords]
    stack += (*node.args, *[keyword.value for keyword in node.keywords])
    found.shape.append((nodes.Call, method, len(node.args), *names))
    return None if None in names else operators


def _of_attribute(node: nodes.Attribute, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    if node.name == "grad" and type(node.value) is nodes.Name:
        found.names.append(node)
        found.shape.append((nodes.Attribute, node.value.id))
        return 0
    stack.append(node.value)
    found.shape.append((nodes.Attribute, node.name, None))
    return 0 if node.name in _MODULES else None


def _of_tuple(node: nodes.TupleExpr, found: Leaves, stack: list[nodes.Expr]) -> int:
    stack += node.items
    found.shape.append((nodes.TupleExpr, len(node.items)))
    return 0


def _of_subscript(node: nodes.Subscript, found: Leaves, stack: list[nodes.Expr]) -> int | None:
    index = node.index
    stack.append(node.value)
    found.shape.append((nodes.Subscript, index.text))
    return 1 if all(map(_is_constant_index, index.items if type(index) is nodes.TupleExpr else (index,))) else None


_VISITS: dict[type[nodes.Expr], Callable[[Any, Leaves, list[nodes.Expr]], int | None]] = {
    nodes.Name: _of_name,
    nodes.Constant: _of_constant,
    nodes.Unary: _of_unary,
    nodes.Binary: _of_binary,
    nodes.Call: _of_call,
    nodes.Attribute: _of_attribute,
    nodes.TupleExpr: _of_tuple,
    nodes.Subscript: _of_subscript,
}


def is_number(node: nodes.Node) -> bool:
    """Whether it is an int or a float that the program wrote, or `-` before one."""
    literal = node.operand if type(node) is nodes.Unary and node.op == "-" else node
    return type(literal) is nodes.Constant and type(literal.value) in _NUMBERS


def value_of(number: nodes.Expr) -> float:
    """The value of a number that the program wrote."""
    return -number.operand.value if type(number) is nodes.Unary else number.value  # type: ignore[attr-defined, no-any-return]


def _is_constant_index(node: nodes.Expr | None) -> bool:
    """Whether it is an int, or a slice of ints, as the program wrote them."""
    if isinstance(node, nodes.Slice):
        return all(part is None or _is_constant_index(part) for part in (node.lower, node.upper, node.step))
    if isinstance(node, nodes.Unary) and node.op == "-":
        node = node.operand
    return isinstance(node, nodes.Constant) and type(node.value) is int


def _may_be_module(call: nodes.Call, owner: nodes.Expr) -> bool:
    return type(owner) is nodes.Name and bool(call.args) and not call.keywords and not hasattr(builtins, owner.id)


class Updates(NamedTuple):
    """What statements that write in place begin with."""

    #: names and gradients, each as often as it is an operand
    operands: list[nodes.Expr]
    #: names and gradients that are only written to, and `torch` of `torch.no_grad()`
    others: list[nodes.Expr]
    #: the statements after which a gradient is None
    drops: list[nodes.Stmt]


def updates_of(statements: Sequence[nodes.Stmt]) -> tuple[int, Updates]:
    """How many of the first of some statements only update names and gradients in place, and what these begin with.

    Such are `x -= EXPRESSION` within `with torch.no_grad():`, `x.grad.zero_()`, and, behind all others, `x.grad = None`.
    """
    found = Updates([], [], [])
    count = 0
    for statement in statements:
        one = Updates([], [], [])
        without_grad = type(statement) is nodes.With and _is_no_grad(statement)
        inner = statement.body if without_grad else (statement,)  # type: ignore[attr-defined]
        if not all(_is_update(part, one, without_grad, bool(found.drops)) for part in inner):
            break
        found.operands.extend(one.operands)
        found.others.extend(one.others)
        found.drops.extend(one.drops)
        if without_grad:
            found.others.append(statement.items[0][0].function.value)  # type: ignore[attr-defined]
        count += 1
    return count, found


def _is_no_grad(statement: nodes.With) -> bool:
    """Whether it is `with torch.no_grad():`."""
    (manager, target), *more = statement.items
    if more or target is not None or type(manager) is not nodes.Call or manager.args or manager.keywords:
        return False
    function = manager.function
    return (
        type(function) is nodes.Attribute
        and function.name == "no_grad"
        and type(function.value) is nodes.Name
        and function.value.id == "torch"
    )


def _is_update(statement: nodes.Stmt, found: Updates, without_grad: bool, dropped: bool) -> bool:
    if type(statement) is nodes.Assign:
        target = statement.targets[0]
        found.drops.append(statement)
        return (
            len(statement.targets) == 1 and _is_grad(target) and type(statement.value) is nodes.Constant and statement.value.value is None
        )
    if found.drops or dropped:
        return False
    if type(statement) is nodes.AugAssign:
        leaves = leaves_of(statement.value, -1, modules=False)
        if leaves is None or type(statement.target) is not nodes.Name or statement.op not in _ARITHMETIC or not without_grad:
            return False
        found.operands.extend((statement.target, *leaves.names))
        return True
    call = statement.value if type(statement) is nodes.ExprStmt else None
    if type(call) is not nodes.Call or call.args or call.keywords:
        return False
    function = call.function
    if type(function) is not nodes.Attribute or function.name != "zero_" or not _is_grad(function.value):
        return False
    found.others.append(function.value)
    return True


def _is_grad(node: nodes.Expr) -> bool:
    return type(node) is nodes.Attribute and node.name == "grad" and type(node.value) is nodes.Name


def names_of_test(node: nodes.Expr) -> list[nodes.Name] | None:
    """The names in a test of names and numbers, such as `i % 100 == 0`; None for any other expression."""
    found: list[nodes.Name] = []
    stack: list[nodes.Expr] = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, nodes.Name):
            found.append(at)
        elif isinstance(at, nodes.Binary | nodes.Compare) and _IN_TESTS.issuperset(at.ops):
            stack += (at.first, *at.rest)
        elif isinstance(at, nodes.BoolOp):
            stack += at.items
        elif not isinstance(at, nodes.Constant) or type(at.value) not in (int, float, bool):
            return None
    return found
