"""Derivatives by complex steps, for expressions of analytic operations: exact to rounding, as nothing is subtracted.

f(x + ih) = f(x) + ih f'(x) + O(h^2) for analytic f and real x, so that the imaginary part over h is the derivative for any
tiny h (Squire and Trapp, SIAM Review 40 (1998) 110). The tensors here have no complex dtype: the text is evaluated a second
time, with numpy alone, which makes this independent of the operations that are checked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function
from gradcli.core.kernels import Array
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.syntax import nodes

_STEP = 1e-100

#: operator -> the function that it stands for
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "@": "matmul"}
_MODULES = frozenset({"torch", "F"})


class NotAnalytic(Exception):
    """The text has something that complex steps cannot pass, or do not know."""


def _analytic(name: str, count: int) -> Callable[..., Array]:
    """The function `torch.NAME` of complex arrays, as its declaration has it, for a call with that many arguments."""
    try:
        function = catalog.function(name)
    except KeyError:
        raise NotAnalytic from None
    if not isinstance(function, Function) or function.analytic is None:
        raise NotAnalytic
    if isinstance(function.analytic, np.ufunc) and function.analytic.nin != count:
        raise NotAnalytic  # numpy would take one more argument for the array to write to
    return function.analytic


class ComplexStep:
    """The expression `tree` of variables, whose value by the operations that are checked is `value`.

    `slopes` are None where complex steps do not apply.
    """

    def __init__(self, tree: nodes.Expr, variables: Mapping[str, Tensor], others: Mapping[str, Any], value: Array) -> None:
        self._tree = tree
        # a name that was computed from variables does not stay as it is
        fixed = {name: one for name, one in others.items() if type(one) is not Tensor or not one.requires_grad}
        self._names: dict[str, Any] = {name: one.array if type(one) is Tensor else one for name, one in fixed.items()}
        self._names |= {name: one.array.astype(np.complex128) for name, one in variables.items()}
        # both must compute the same thing: log of a negative number is nan in one of them
        here = self._evaluated()
        self.applies = here is not None and here.shape == value.shape and bool(np.allclose(here.real, value, rtol=1e-9, atol=0))

    def slopes(self, name: str, index: tuple[int, ...]) -> Array | None:
        """The derivatives of all outputs, flat, by one element of a variable."""
        if not self.applies:
            return None
        array = self._names[name]
        before = array[index]
        array[index] = before + 1j * _STEP
        out = self._evaluated()
        array[index] = before
        found = None if out is None else np.asarray(out.imag, np.float64).reshape(-1) / _STEP
        return found if found is not None and np.isfinite(found).all() else None

    def _evaluated(self) -> Array | None:
        try:
            with np.errstate(all="ignore"):
                return np.asarray(self._value(self._tree))
        except (NotAnalytic, ValueError, TypeError, ArithmeticError):
            return None

    def _value(self, node: nodes.Expr) -> Any:
        if isinstance(node, nodes.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, nodes.Name):
            value = self._names.get(node.id)
            if type(value) in (int, float) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiuc"):
                return value
        elif isinstance(node, nodes.Unary) and node.op in "+-":
            value = self._value(node.operand)
            return -value if node.op == "-" else value
        elif isinstance(node, nodes.Binary) and all(op in _OPERATORS for op in node.ops):
            value = self._value(node.first)
            for op, right in zip(node.ops, node.rest, strict=True):
                value = _analytic(_OPERATORS[op], 2)(value, self._value(right))
            return value
        elif isinstance(node, nodes.Attribute) and node.name == "T":
            return np.transpose(self._value(node.value))
        elif isinstance(node, nodes.Call) and not node.keywords:
            return self._called(node)
        raise NotAnalytic

    def _called(self, node: nodes.Call) -> Any:
        function, args = node.function, list(node.args)
        name = function.id if isinstance(function, nodes.Name) else function.name if isinstance(function, nodes.Attribute) else ""
        if isinstance(function, nodes.Attribute) and not (isinstance(function.value, nodes.Name) and function.value.id in _MODULES):
            args.insert(0, function.value)
        if name in self._names:
            raise NotAnalytic
        if not args:
            raise NotAnalytic
        run = _analytic(name, len(args))
        return run(np.asarray(self._value(args[0])), *map(self._value, args[1:]))
