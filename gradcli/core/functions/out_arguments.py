"""Calls with `out=`: PyTorch's steps, as the `Out` of the function says. It is loaded when a program uses `out=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.calling import complex_refusals
from gradcli.core.calling.named_tuples import NamedResult, named
from gradcli.core.calling.signature import Signature
from gradcli.core.functions.out import EXACT, SAME, Out
from gradcli.core.functions.out_checks import OutChecks
from gradcli.core.graph import in_place, inplace_forms
from gradcli.core.graph.record import Op, Rule, no_derivative
from gradcli.core.graph.write_checks import bump, read_while_written, shares_places
from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError, runtime_error

if TYPE_CHECKING:
    from gradcli.core.functions.function import Function


def call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with `out=`, and return `out`. Raises PyTorch's errors for arguments, and for an `out` that does not fit."""
    types = {p.type for s in function.parser.signatures for p in s.parameters}
    if type(kwargs["out"]) in (bool, int, float, complex) and "Operand" in types:
        raise runtime_error("a number as out, of which PyTorch makes a tensor, is not part of gradcli")
    signature, values = function.parser.find(args, kwargs)
    out = values.pop(signature.out_at) if signature.out_at >= 0 else None
    if out is None:
        return signature.implementation(*values)
    if signature.outs and len(out) != signature.outs:
        raise ProgramError("TypeError", f"expected tuple of {signature.outs} elements but got {len(out)}")
    rule = function.out
    if not isinstance(rule, Out):
        rule = Out() if isinstance(rule, bool) else rule(*values)
    if type(out) is Tensor:
        _take_dtype(signature, values, out, rule)
    names = [p.name for p in signature.parameters if p.name != "out"]
    constants = [i for i, name in enumerate(names) if name in rule.constants]
    made = _Call(function, rule, values, out, constants)
    if names[1:2] == ["alpha"]:  # the deprecated overload of `add` takes alpha second
        made.number_at = 2
    return made.run(signature.implementation)


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
    if new and "pin_memory" in at:
        values[at["pin_memory"]] = False


#: errors before which PyTorch looks at the memory of `out`, and most of them at its dtype too
_AFTER_MEMORY = (Code.BROADCAST, Code.NO_KERNEL, Code.OUT_OF_RANGE, Code.AFTER_CHECKS, Code.RESULT_DTYPE)
#: errors of kernels, which PyTorch's structured functions run when `out` has been checked and resized
_BY_KERNEL = (Code.DTYPES_DIFFER, Code.NUMBER_TOO_LARGE)


def _is_singular(error: ProgramError) -> bool:
    """Whether a library could not compute with the numbers that it got."""
    return error.code is Code.SINGULAR or error.kind.endswith("_LinAlgError")


class _Call(OutChecks):
    """A call that writes into `out`."""

    #: how many results have been written
    written = 0

    def run(self, implementation: Callable[..., Any]) -> Any:
        """All steps, in PyTorch's order."""
        rule, several = self.rule, self.out is self.outs
        if rule.prepare is not None:
            rule.prepare(self.values, self.out)
        if not rule.late:
            self.check_graph()
        if rule.steps is not None:
            made = self.evaluated(rule.steps, [*self.values, self.out])
            self.check_tangent()
            return made
        result = self.computed(implementation)
        if not rule.late:
            if rule.exact not in ("", EXACT, SAME):  # a check of the function's own
                self.check_dtypes(result)
            self.check_memory("first")
        if rule.resized_first:
            self.check_order(self.out, result)
            in_place.resize_out(self.out, result, bool(rule.row_major))
        if rule.check is not None:
            rule.check(self.out, result)
        if rule.late:
            if rule.exact not in ("", EXACT):  # the function's own check; that of the operator comes after the graph
                self.check_dtype(self.out, result.dtype)
            self.check_graph()
            self.check_memory("first")
        if several:
            made = self.write_several(result)
        else:
            self.check_dtypes(result)
            made = self.write(self.out, result)
        self.check_tangent()
        return made

    # --- the result ---

    def computed(self, implementation: Callable[..., Any]) -> Any:
        """The result, with its history where that is copied. Some errors come after checks of `out`."""
        try:
            if self.rule.inspect is not None:
                self.rule.inspect(self.values, self.out)
            self.check_known()
            return self.evaluated(implementation, self.values)
        except ProgramError as error:
            if self.is_late(error):
                self.look_at_out(implementation, error)
            raise

    def check_known(self) -> None:
        """Check what is known of the result before it is computed."""
        rule = self.rule
        if rule.first:
            if self.elementwise and rule.exact in ("", EXACT, SAME):
                self.check_memory("first")
            self.check_first()
        shape = rule.shape(self.values) if rule.shape is not None else None
        if rule.first and self.in_place and self.memory == "resized":
            shape = self.operands[0].array.shape
        if shape is not None:
            shapes = shape if isinstance(shape, list) else [shape] * len(self.outs)
            shared = any(
                out.array.shape != size and 0 not in size and any(out is t or np.shares_memory(out.array, t.array) for t in self.operands)
                for out, size in zip(self.outs, shapes, strict=True)
            )
            for out, size in zip(self.outs, shapes, strict=True):
                in_place.resize_to(out, size, silent=rule.silent)
            for out in self.outs if self.overlap else ():
                self.check_memory("resized", out)
            if shared:
                raise read_while_written()

    def evaluated(self, implementation: Callable[..., Any], values: Sequence[Any]) -> Any:
        """What the function gives for these arguments, without a history unless that is copied."""
        composed = self.autograd == "composed"
        level = None if composed else state.dual
        paused = level is not None and level.paused
        if level is not None:
            level.paused = True
        try:
            with recording(state.enabled and (composed or self.rule.last_step)):
                return implementation(*values)
        finally:
            if level is not None:
                level.paused = paused

    # --- errors of the computation ---

    def is_late(self, error: ProgramError) -> bool:
        """Whether PyTorch has looked at `out` when it raises this error of the computation."""
        if self.autograd == "composed" or not self.operands or (error.names and complex_refusals.before_checks(error.names[0])):
            return False
        if error.code is Code.NO_KERNEL and self.rule.kernel_first:
            return self.memory == "unchecked"
        if error.code in _BY_KERNEL:
            return self.rule.exact == EXACT or (error.code is Code.NUMBER_TOO_LARGE and self.overlap == "partial")
        return error.code in _AFTER_MEMORY or _is_singular(error)

    def look_at_out(self, implementation: Callable[..., Any], error: ProgramError) -> None:
        """Check and resize `out` as far as PyTorch has done when it raises this error."""
        no_kernel = error.code is Code.NO_KERNEL
        if not self.rule.late:
            self.check_memory("first")
        if error.code is not Code.BROADCAST:
            if not (no_kernel and self.rule.kernel_first):
                self.check_first(no_kernel or error.code is Code.AFTER_CHECKS)
            self.resize_unwritten(implementation, error)
        if _is_singular(error) and self.operator.endswith("_ex") and self.operator != self.name.replace(".", "_"):
            for out in self.outs:  # the error is that of a function around the operator, which has written
                bump(out)
            self.check_tangent()

    def resize_unwritten(self, implementation: Callable[..., Any], error: ProgramError) -> None:
        """Give `out`, with a warning, the shape of a result that the operands' values or dtype do not allow."""
        rule = self.rule
        if not self.has_shape(error):
            return
        wide = error.code in (Code.NO_KERNEL, *_BY_KERNEL)
        try:
            results = self.regular_results(implementation, error, wide)
        except (ProgramError, ValueError) as other:
            if not self.in_place:
                found = other.code if isinstance(other, ProgramError) else None
                if (error.code, found) in ((Code.AFTER_CHECKS, Code.NO_KERNEL), (Code.NO_KERNEL, Code.DTYPES_DIFFER)):
                    self.resize_unwritten(implementation, other)  # type: ignore[arg-type]
                return
            results = self.operands[0]
        for field, out, result in self.parts(results):
            if rule.exact not in ("", SAME) and (not wide or self.out is self.outs):
                self.check_dtype(out, self.operands[0].dtype if wide and result.dtype is dtypes.float64 else result.dtype, field)
            # PyTorch computes an elementwise result in memory of its own where `out` has another dtype
            apart = self.elementwise and bool(rule.instead) and out.dtype is not result.dtype
            in_place.resize_out(Tensor(out.array, out.dtype) if apart else out, result, bool(rule.row_major), rule.silent)
        if self.overlap:
            self.check_memory("resized")

    def is_elementwise(self, error: ProgramError) -> bool:
        """Whether an elementwise function raised this error."""
        return self.elementwise or (error.code is Code.NUMBER_TOO_LARGE and self.overlap == "partial")

    def has_shape(self, error: ProgramError) -> bool:
        """Whether `out` has got the shape of the result when PyTorch raises this error."""
        row_major, singular = self.rule.row_major, _is_singular(error)
        # PyTorch copies results into an `out` that does not fit ("unfit") before it looks for errors of the library
        if row_major == "always" or (row_major and not singular):
            return False
        if error.code is Code.NO_KERNEL:
            return len(error.names) > 1  # without a name nothing tells which dtype has no kernel
        found = (*_BY_KERNEL, Code.AFTER_CHECKS, *([Code.OUT_OF_RANGE] if self.rule.instead else []))
        by_kernel = singular or error.code in found
        return by_kernel or self.is_elementwise(error) or self.in_place

    def regular_results(self, implementation: Callable[..., Any], error: ProgramError, wide: bool) -> Any:
        """What the function gives for tensors of the same shapes that it takes; `wide`: of double precision.

        Raises ProgramError or ValueError where it does not take these either.
        """
        lacking = error.names[1] if error.code is Code.NO_KERNEL else None

        def regular(value: Any) -> Any:
            if isinstance(value, (tuple, list)):
                return type(value)(map(regular, value)) if type(value) in (tuple, list) else value
            if isinstance(value, DType) and lacking is not None:
                return dtypes.float64 if value.torch_name == lacking else value
            if type(value) is not Tensor or (lacking is not None and value.dtype.torch_name != lacking):
                return value
            array = dtypes.cast(value.array, dtypes.float64) if wide else np.array(value.array)
            if not wide or "linalg_" in self.operator:
                array[...] = np.eye(*array.shape[-2:]) if array.ndim > 1 else 1
            return Tensor(array, dtypes.float64 if wide else value.dtype)

        if self.is_elementwise(error) and not self.rule.instead:  # some functions take no floats
            return Tensor(np.broadcast_arrays(*(t.array for t in self.operands))[0], dtypes.float64)
        instead = {i: regular(v) if lacking is not None else v for i, v in self.rule.instead.items()}
        return self.evaluated(implementation, [instead[i] if i in instead else regular(v) for i, v in enumerate(self.values)])

    # --- dtypes ---

    def check_dtypes(self, results: Any) -> None:
        """Check the dtypes of `out`, or of its parts in the order of PyTorch's checks, against those of the results."""
        exact = self.rule.exact
        structured = self.out is self.outs and not self.rule.counted and EXACT in (exact.values() if isinstance(exact, dict) else (exact,))
        for field, out, part in self.parts(results):
            self.check_dtype(out, part.dtype, field)
            if structured:
                self.check_order(out, part)
                in_place.resize_out(out, part, silent=self.rule.silent)

    def parts(self, results: Any) -> list[tuple[Any, Tensor, Tensor]]:
        """Each field, with what is written into and the result, in the order of PyTorch's checks."""
        if self.out is not self.outs:
            return [("result", self.out, results)]
        fields: Sequence[Any] = results.fields if isinstance(results, NamedResult) else range(len(results))
        parts = {field: (field, out, result) for field, out, result in zip(fields, self.outs, results, strict=True)}
        return [parts[field] for field in self.rule.exact] if isinstance(self.rule.exact, dict) else list(parts.values())

    # --- writing ---

    def write_several(self, results: Any) -> Any:
        """Write the parts of a result, once all dtypes have been checked."""
        self.check_dtypes(results)
        kind = named(f"{results.type_name}_out", *results.fields) if isinstance(results, NamedResult) else type(results)
        made = kind(self.write(out, part) for out, part in zip(self.outs, results, strict=True))
        return None if self.rule.nothing else made

    def write(self, out: Tensor, result: Tensor) -> Tensor:
        """Write a result, or a part of it, into a tensor."""
        if out.array.shape != result.array.shape and self.rule.counted:
            bump(out)
        if self.autograd == "composed":
            in_place.resize_out(out, result, row_major=True)
            return in_place.copy_(out, result)
        self.check_order(out, result)
        if self.rule.flat and out.array.size == result.array.size:
            result.array = result.array.reshape(out.array.shape)
        unfit = self.rule.row_major == "unfit" and (out.array.size > 0 or out.dtype is not result.dtype)
        if self.rule.row_major == "unfit" and not unfit:
            out.array = out.array.reshape(0)  # `out` gets the strides of the result in any case
        in_place.resize_out(out, result, unfit or self.rule.row_major == "always", self.rule.silent, self.rule.compared)
        self.check_memory("resized", out)
        self.check_reads(out)
        if self.rule.adds and shares_places(out.array):
            raise runtime_error("sums into an out whose elements share memory are not part of gradcli")
        if self.autograd == "fallback" and state.enabled and any(t.requires_grad for t in (*self.operands, *self.outs)):
            if out is not self.outs[0] and out.view is not None and out.dtype.is_differentiable:
                raise runtime_error("Functions which modify views in-place must return a single Variable")
            converted = dtypes.cast(result.array, out.dtype)
            operands = (_last_operand(result),) if result.node is not None else self.operands
            if not any(t.requires_grad for t in (*operands, out)):
                operands = list(self.outs)  # another part of `out` requires a gradient
            if out is not self.outs[0] and out.view is not None and out.dtype.is_differentiable:
                raise runtime_error("Functions which modify views in-place must return a single Variable")
            return inplace_forms.apply(out, lambda before: self.with_fallback_node(converted, (*operands, before)))
        made = in_place.write_out(out, result)
        if self.memory == "unchecked" and shares_places(out.array) and not np.array_equal(out.array, result.array, equal_nan=True):
            raise runtime_error("different numbers for elements of out that share memory are not part of gradcli")
        made.counter().count += (self.rule.writes if isinstance(self.rule.writes, int) else self.rule.writes[self.written]) - 1
        self.written += 1
        if result.requires_grad and not any(t.requires_grad for t in self.operands):  # a new tensor with requires_grad=True
            made.requires_grad = True
        return made

    def with_fallback_node(self, result: Array, operands: Sequence[Tensor]) -> Tensor:
        """The result, with the node of PyTorch's operators without a formula: the backward pass raises RuntimeError."""
        error = no_derivative(f"aten::{self.operator}")

        def refuse(*_: Any) -> Any:
            raise error

        names = [f"operand{i}" for i in range(len(operands))]
        rules: Any = dict.fromkeys(names, Rule(refuse, ""))
        kind: Any = {"full_name": "torch::autograd::NotImplemented", "saved": "", "jvp": refuse, "complex": True}
        op = Op("NotImplemented", lambda *_: result, " ".join(names), **kind, **rules)
        return op(*operands)  # type: ignore[no-any-return]


def _last_operand(result: Tensor) -> Tensor:
    """What the last step of a function, which made the result, was applied to, as graphs know it."""
    assert result.node is not None
    made = Tensor(result.array, result.dtype)
    made.node, made.output_nr = result.node.edges[0]
    made.requires_grad = made.node is not None
    return made
