"""Which expressions can have a plan, by their syntax: those of arithmetic, of functions that only compute, and of calls of modules."""

from __future__ import annotations

import builtins
from typing import NamedTuple

from gradcli.lang.syntax.nodes import Attribute, Binary, Call, Constant, Expr, Name, TupleExpr, Unary

#: functions and methods that only compute: their results depend on nothing but their arguments, and their plain arguments on no tensor
FUNCTIONS = frozenset(
    {
        *("abs", "acos", "add", "asin", "atan", "cos", "cosh", "div", "dot", "elu", "erf", "exp", "exp2", "expm1", "gelu", "leaky_relu"),
        *("log", "log10", "log1p", "log2", "log_softmax", "logsumexp", "matmul", "mean", "mm", "mse_loss", "mul", "mv", "neg", "norm"),
        *("pow", "reciprocal", "relu", "rsqrt", "selu", "sigmoid", "silu", "sin", "sinh", "softmax", "softplus", "sqrt", "square", "std"),
        *("sub", "sum", "tan", "tanh", "var"),
    }
)
_OPERATORS = frozenset(("+", "-", "*", "/", "**", "@"))
#: what stands between `torch` and a function
_MODULES = frozenset(("nn", "functional"))
_PLAIN = frozenset((int, float, bool, str, type(None)))

#: expressions with more parts have no plan as a whole
_MOST = 64
#: a call counts as so many operators, since a plan also saves finding the function, and so does that of a module; a plan gains only for
#: more than the least
_CALL, _MODULE, _LEAST = 2, 3, 2


class Leaves(NamedTuple):
    """What an expression begins with."""

    #: names, and gradients (`x.grad`), each as often as it stands there
    names: list[Expr]
    #: what is called and may be a module: names, and attributes of names
    modules: list[Expr]


def leaves_of(node: Expr, least: int = _LEAST, modules: bool = True) -> Leaves | None:
    """The leaves of an expression that can have a plan; None for any other expression.

    Expressions of no more than `least` operators have none. Without `modules`, nothing that may be one is called.
    """
    found = Leaves([], [])
    stack: list[Expr] = [node]
    parts = work = 0
    while stack:
        at = stack.pop()
        parts += 1
        kind = type(at)
        if kind is Name:
            found.names.append(at)
        elif kind is Binary:
            if not _OPERATORS.issuperset(at.ops):  # type: ignore[attr-defined]
                return None
            work += len(at.ops)  # type: ignore[attr-defined]
            stack += (at.first, *at.rest)  # type: ignore[attr-defined]
        elif kind is Constant:
            if type(at.value) not in _PLAIN:  # type: ignore[attr-defined]
                return None
        elif kind is Call:
            function = at.function  # type: ignore[attr-defined]
            owner = function.value if type(function) is Attribute else function
            if (function.name if type(function) is Attribute else getattr(function, "id", "")) in FUNCTIONS:
                work += _CALL
                stack.append(owner)
            elif modules and _may_be_module(at, owner):  # type: ignore[arg-type]
                work += _MODULE
                found.modules.append(function)
            else:
                return None
            stack += (*at.args, *[keyword.value for keyword in at.keywords])  # type: ignore[attr-defined]
            if any(keyword.name is None for keyword in at.keywords):  # type: ignore[attr-defined]
                return None
        elif kind is Attribute:
            name = at.name  # type: ignore[attr-defined]
            if name == "grad" and type(at.value) is Name:  # type: ignore[attr-defined]
                found.names.append(at)
            elif name in _MODULES:
                stack.append(at.value)  # type: ignore[attr-defined]
            else:
                return None
        elif kind is Unary:
            if at.op != "-":  # type: ignore[attr-defined]
                return None
            work += 1
            stack.append(at.operand)  # type: ignore[attr-defined]
        elif kind is TupleExpr:
            stack += at.items  # type: ignore[attr-defined]
        else:
            return None
        if parts > _MOST:
            return None
    return found if work > least and found.names else None


def _may_be_module(call: Call, owner: Expr) -> bool:
    return type(owner) is Name and bool(call.args) and not call.keywords and not hasattr(builtins, owner.id)
