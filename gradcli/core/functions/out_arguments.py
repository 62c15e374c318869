"""Calls with `out=`: PyTorch's steps, as the `Out` of the function says. It is loaded when a program uses `out=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradcli.core.calling import complex_refusals
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.calling.signature import Signature
from gradcli.core.functions.out import EXACT, Out, no_graph
from gradcli.core.graph import in_place
from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error

if TYPE_CHECKING:
    from gradcli.core.functions.function import Function


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with `out=`, and return `out`. Raises PyTorch's errors for arguments, and for an `out` that does not fit."""
    signature, values = function.parser.find(args, kwargs)
    out = values.pop(signature.out_at) if signature.out_at >= 0 else None
    if out is None:
        return signature.implementation(*values)
    rule = function.out
    if not isinstance(rule, Out):
        rule = Out() if isinstance(rule, bool) else rule(*values)
    if type(out) is Tensor:
        _take_dtype(signature, values, out, rule)
    return _Call(function, rule, values, out).run(signature.implementation)


def _take_dtype(signature: Signature, values: list[Any], out: Tensor, rule: Out) -> None:
    """Let a function that makes a tensor, or has its `own_dtype`, compute in the dtype of `out`.

    Raises RuntimeError for a new tensor whose dtype the call gives otherwise.
    """
    at = {name: i for i, name in enumerate(p.name for p in signature.parameters if p.name != "out")}
    new = "layout" in at
    if not new and not (rule.own_dtype and "dtype" in at):
        return
    given = values[at["dtype"]]
    if new and given is not None and given is not out.dtype:
        raise runtime_error(f"dtype {given.torch_name} does not match dtype of out parameter ({out.dtype.torch_name})")
    values[at["dtype"]] = given or out.dtype
    if new:
        values[at["pin_memory"]] = False


class _Call:
    """A call that writes into `out`."""

    def __init__(self, function: Function, rule: Out, values: list[Any], out: Any) -> None:
        self.rule = rule
        self.values = values
        self.out = out
        self.outs: Sequence[Tensor] = out if isinstance(out, (tuple, list)) else (out,)
        flat = [t for v in values for t in (v if isinstance(v, (tuple, list)) else (v,))]
        self.operands = [t for t in flat if type(t) is Tensor]
        #: the name of the function in errors about dtypes
        self.name = function.operator.replace("linalg_", "linalg.")
        #: the operator that errors about graphs name
        self.operator = rule.operator or function.operator
        self.autograd = rule.autograd or ("derivative" if function.ops or rule.operator else "constant")
        #: the tensors whose gradients count: of several results some are indices, or have no derivative
        self.tracked = [*self.operands, *self.outs]
        if out is self.outs and self.autograd == "derivative":
            count = next((op.differentiable for op in function.ops if op.outputs), 1)
            self.tracked = [*self.operands, *out[rule.tracked or slice(count)]]

    def run(self, implementation: Callable[..., Any]) -> Any:
        """All steps, in PyTorch's order."""
        rule, several = self.rule, self.out is self.outs
        if rule.prepare is not None:
            rule.prepare(self.values, self.out)
        if not rule.late:
            self.check_graph()
        if rule.first:
            self.check_first()
        result = self.computed(implementation)
        if rule.resized_first:
            in_place.resize_out(self.out, result)
        if rule.check is not None:
            rule.check(self.out, result)
        if rule.late:
            if rule.exact not in ("", EXACT):  # the function's own check; that of the operator comes after the graph
                self.check_dtype(self.out, result.dtype)
            self.check_graph()
        if several:
            made = self.write_several(result)
        else:
            self.check_dtype(self.out, result.dtype)
            made = self.write(self.out, result)
        if self.autograd in ("derivative", "constant", "none") and self.has_tangent():
            raise ProgramError(
                "NotImplementedError",
                f"Trying to use forward AD with {self.operator}_out that does not support it because it is an out= function",
            )
        return made

    # --- graphs and tangents ---

    def check_graph(self) -> None:
        """Raise PyTorch's error for an operator that does not write into `out` where a gradient, or a tangent, is wanted."""
        if self.autograd == "derivative" and state.enabled and any(t.requires_grad for t in self.tracked):
            raise no_graph(self.operator)
        if self.autograd == "fallback":
            operator = f"aten::{self.operator}"
            if self.has_tangent():
                raise ProgramError("NotImplementedError", f"Trying to use forward AD with {operator} that does not support it.")
            if state.enabled and any(t.requires_grad and t.is_leaf for t in self.outs):
                raise no_graph(operator)

    def has_tangent(self) -> bool:
        level = state.dual
        operands = () if self.autograd == "none" else self.operands
        return level is not None and any(level.tangent_of(t) is not None for t in (*operands, *self.outs))

    # --- the result ---

    def computed(self, implementation: Callable[..., Any]) -> Any:
        """The result, with its history where that is copied. A missing kernel is named after the dtype of `out` has been checked."""
        composed = self.autograd == "composed"
        level = None if composed else state.dual
        paused = level is not None and level.paused
        if level is not None:
            level.paused = True
        try:
            with recording(state.enabled and composed):
                return implementation(*self.values)
        except ProgramError as error:
            refused_first = bool(error.names) and complex_refusals.before_checks(error.names[0])
            if error.code in (Code.NO_KERNEL, Code.OUT_OF_RANGE) and not composed and self.operands and not refused_first:
                self.check_first()
            raise
        finally:
            if level is not None:
                level.paused = paused

    # --- dtypes ---

    def check_first(self) -> None:
        """Check the dtype of `out`, the first of several, while there is no result."""
        dtype = self.rule.dtype or (self.operands[0].dtype if self.rule.exact else dtypes.result_type(tuple(self.operands)))
        if self.outs and not self.rule.own_dtype:
            self.check_dtype(self.outs[0], dtype)

    def check_dtype(self, out: Tensor, dtype: DType, field: Any = "result") -> None:
        """Raise RuntimeError for an `out` that does not take the `field` of the function's result, which has this dtype."""
        exact, lower = self.rule.exact, self.rule.lower
        if dtype is out.dtype:
            return
        text = exact if isinstance(exact, str) else exact.get(field) or next(iter(exact.values()))
        if dtype.category > out.dtype.category:
            if not text and lower == "":
                raise result_dtype_error(dtype.torch_name, out.dtype)
            text = lower or text
        if text:
            names = {"result": dtype.torch_name, "out": out.dtype.torch_name, "result_c": dtype.c_name, "out_c": out.dtype.c_name}
            raise ProgramError(self.rule.error, text.format(name=self.name, field=field, **names))

    # --- writing ---

    def write_several(self, results: Any) -> Any:
        """Write the parts of a result, once all dtypes have been checked. Raises TypeError for another number of tensors."""
        if len(self.outs) != len(results):
            raise ProgramError("TypeError", f"expected tuple of {len(results)} elements but got {len(self.outs)}")
        fields: Sequence[Any] = results.fields if isinstance(results, NamedResult) else range(len(results))
        parts = dict(zip(fields, zip(self.outs, results, strict=True), strict=True))
        for field in self.rule.exact if isinstance(self.rule.exact, dict) else parts:
            out, part = parts[field]
            self.check_dtype(out, part.dtype, field)
        kind = named(f"{results.type_name}_out", *results.fields) if isinstance(results, NamedResult) else type(results)
        made = kind(self.write(out, part) for out, part in parts.values())
        return None if self.rule.nothing else made

    def write(self, out: Tensor, result: Tensor) -> Tensor:
        """Write a result, or a part of it, into a tensor."""
        if self.autograd == "composed":
            in_place.resize_out(out, result, row_major=True)
            return in_place.copy_(out, result)
        if self.rule.flat and out.array.size == result.array.size:
            result.array = result.array.reshape(out.array.shape)
        unfit = self.rule.row_major == "unfit" and (out.array.size > 0 or out.dtype is not result.dtype)
        in_place.resize_out(out, result, unfit or self.rule.row_major == "always", self.rule.silent)
        made = in_place.write_out(out, result)
        if self.autograd == "fallback" and state.enabled and any(t.requires_grad for t in (*self.operands, out)):
            return in_place.apply(made, lambda before: self.with_fallback_node(made, (*self.operands, before)))
        if result.requires_grad and not self.operands:  # a new tensor with requires_grad=True
            made.requires_grad = True
        return made

    def with_fallback_node(self, out: Tensor, operands: Sequence[Tensor]) -> Tensor:
        """What is in `out` now, with the node of PyTorch's operators without a formula: the backward pass raises RuntimeError."""
        error = no_derivative(f"aten::{self.operator}")

        def refuse(*_: Any) -> Any:
            raise error

        names = [f"operand{i}" for i in range(len(operands))]
        rules: Any = dict.fromkeys(names, Rule(refuse, ""))
        kind: Any = {"full_name": "torch::autograd::NotImplemented", "saved": "", "jvp": refuse, "complex": True}
        op = Op("NotImplemented", lambda *_: out.array, " ".join(names), **kind, **rules)
        return op(*operands)  # type: ignore[no-any-return]
