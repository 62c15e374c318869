"""Which expressions can have a plan, by their syntax: those of arithmetic and of functions that only compute."""

from __future__ import annotations

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
#: a call counts as so many operators, since a plan also saves finding the function; a plan gains only for more than the least
_CALL, _LEAST = 2, 2


def names_of(node: Expr, least: int = _LEAST) -> list[Expr] | None:
    """The names in an expression that can have a plan, and the gradients that it reads (`x.grad`); None for any other expression.

    Expressions of no more than `least` operators have none.
    """
    found: list[Expr] = []
    stack: list[Expr] = [node]
    parts = work = 0
    while stack:
        at = stack.pop()
        parts += 1
        kind = type(at)
        if kind is Name:
            found.append(at)
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
            if (function.name if type(function) is Attribute else getattr(function, "id", "")) not in FUNCTIONS:
                return None
            work += _CALL
            stack += (owner, *at.args, *[keyword.value for keyword in at.keywords])  # type: ignore[attr-defined]
            if any(keyword.name is None for keyword in at.keywords):  # type: ignore[attr-defined]
                return None
        elif kind is Attribute:
            name = at.name  # type: ignore[attr-defined]
            if name == "grad" and type(at.value) is Name:  # type: ignore[attr-defined]
                found.append(at)
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
    return found if work > least and found else None
