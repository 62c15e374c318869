"""torch.autograd.Function: an operation whose forward and backward a program defines.

The node of the graph is the `ctx` that both get, as in PyTorch: what forward puts there is there in backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradcli.core.autograd.function_outputs import connected
from gradcli.core.autograd.function_tangents import push_tangents
from gradcli.core.autograd.packed_tensors import Packed
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.graph.saved_arrays import Saved
from gradcli.core.kernels import broadcasts_to
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import Edge, Node, freed_error, modified_error
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

_MISSING_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
)
_MISSING_FORWARD = "You must implement the forward function for custom autograd.Function."
_MISSING_JVP = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
_NO_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the setup_context "
    "staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)
_NO_VMAP = (
    "You tried to vmap over {}, but it does not have vmap support. Please override and implement the vmap staticmethod or set "
    "generate_vmap_rule=True. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)


_TWO_RULES = (
    "You tried to vmap over {}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
    "generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. For more details, please see "
    "https://pytorch.org/docs/main/notes/extending.func.html"
)


class Functions(NamedTuple):
    """What the class of a program defines; `setup_context` None means that forward takes ctx itself."""

    name: str
    forward: Callable[..., Any] | None
    backward: Callable[..., Any] | None
    setup_context: Callable[..., Any] | None
    jvp: Callable[..., Any] | None
    #: whether vmap runs the methods on samples: `generate_vmap_rule`
    maps: bool = True
    #: the rule of the program for vmap
    vmap: Callable[..., Any] | None = None


class FunctionNode(Node, Scripted):
    """The node of a custom function, and the ctx of its forward and backward."""

    __slots__ = (
        *("connected", "dirty", "fields", "freed", "functions", "given", "kept", "kept_for_jvp", "materialize", "needs_input_grad"),
        *("non_differentiable", "output_places", "positions", "results"),
    )

    def __init__(self, functions: Functions, edges: tuple[Edge, ...], dtype: DType, args: tuple[Any, ...]) -> None:
        super().__init__(edges, (), dtype)
        self.functions = functions
        #: attributes that forward has put on ctx
        self.fields: dict[str, Any] = {}
        #: the positions of the tensors among the arguments of forward, one for each edge
        self.positions = tuple([at for at, arg in enumerate(args) if type(arg) is Tensor])
        self.given = len(args)
        self.needs_input_grad = tuple([type(arg) is Tensor and arg.requires_grad for arg in args])
        self.materialize = True
        self.dirty: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        #: what `save_for_backward` got, each tensor with the version that it had
        self.kept: tuple[tuple[Any, int], ...] | None = None
        #: what `save_for_forward` got; None again when `apply` has ended
        self.kept_for_jvp: tuple[Any, ...] | None = None
        #: whether forward has ended, so that backward may read what it saved
        self.connected = False
        self.freed = False
        #: how many outputs forward has, and the places of the tensors among them
        self.results = 0
        self.output_places: tuple[int, ...] = ()

    runs_anyway = True
    real_part = False

    @property
    def type_name(self) -> str:
        return f"{self.functions.name}Backward"

    @property
    def path(self) -> str:
        return f"torch.autograd.function.{self.type_name}"

    def release(self) -> None:
        if self.kept:
            self.kept = None
            self.freed = True

    # --- ctx ---

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `saved_tensors`. Where there is a gradient, `apply` raises TypeError for other values."""
        self.kept = tuple([(one, one.counter().count if type(one) is Tensor else 0) for one in tensors])

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `saved_tensors` in the function's `jvp`. Raises AssertionError for other values."""
        if any(one is not None and type(one) is not Tensor for one in tensors):
            text = "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            raise ProgramError("AssertionError", text)
        self.kept_for_jvp = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs forward has written to."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: Any) -> None:
        """Whether backward gets zeros for outputs without gradient; else it gets None."""
        if type(value) is not bool:
            raise type_error("set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)")
        self.materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` got. Raises RuntimeError when it was freed, or was written to meanwhile."""
        if self.freed:
            raise freed_error()
        if self.kept_for_jvp is not None:
            return self.kept_for_jvp
        if not self.connected:
            return ()
        return tuple([self._unpacked(one, expected) for one, expected in self.kept or ()])

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """`saved_tensors` under the name that it had at first."""
        warnings.emit("'saved_variables' is deprecated; use 'saved_tensors'", "DeprecationWarning")
        return self.saved_tensors

    def _unpacked(self, one: Any, expected: int) -> Any:
        if one is None:
            return None
        if type(one) is Packed:
            return one.open(self)
        if type(one) is Saved:
            count = one.version.count
            if count != expected:
                raise modified_error(one.dtype, one.array.shape, self, one.number, count, expected)
            made = Tensor(one.array, one.dtype)
            made.version = one.version
            made.node, made.output_nr, made.requires_grad = self, one.number, True
            return made
        if one.counter().count != expected:
            raise modified_error(one.dtype, one.array.shape, one.grad_fn, one.output_nr, one.counter().count, expected)
        return one

    def read(self, name: str, default: Any) -> Any:
        """An attribute that forward has put on ctx, or the default."""
        return self.fields.get(name, default)

    def write(self, name: str, value: Any) -> None:
        """`ctx.name = value`."""
        self.fields[name] = value

    def forget(self, name: str) -> bool:
        """`del ctx.name`; False if there is no such attribute."""
        found = name in self.fields
        self.fields.pop(name, None)
        return found

    SCRIPT_ATTRIBUTES = Attributes.read("saved_tensors saved_variables needs_input_grad")
    SCRIPT_METHODS = {
        **{
            function.__name__: Routine(function, f"FunctionCtx.{function.__name__}")
            for function in (save_for_backward, save_for_forward, mark_dirty, mark_non_differentiable, set_materialize_grads)
        },
        "__getattr__": Routine(read, "__getattr__"),
        "__setattr__": Routine(write, "__setattr__"),
        "__delattr__": Routine(forget, "__delattr__"),
    }

    # --- backward ---

    def gradients(self, grads: list[Any], traced: bool, wanted: Sequence[bool]) -> list[Any]:
        if self.functions.backward is None:
            raise ProgramError("NotImplementedError", _MISSING_BACKWARD)
        given: list[Any] = [None] * self.results
        for at in self.output_places:
            given[at] = self._gradient(at, grads[at])
        with recording(traced):
            found = self.functions.backward(self, *given)
        results = list(found) if isinstance(found, tuple) else [found]
        if all(result is None for result in results[self.given :]):
            del results[self.given :]
        if len(results) != self.given:
            raise runtime_error(
                f"function {self.type_name} returned an incorrect number of gradients (expected {self.given}, got {len(results)})"
            )
        for at, result in enumerate(results):
            if result is not None and at not in self.positions:
                raise runtime_error(
                    f"function {self.type_name} returned a gradient different than None at position {at + 1}, but the corresponding "
                    "forward input was not a Variable"
                )
        return [self._checked(index, results[at], traced) for index, at in enumerate(self.positions)]

    def _gradient(self, number: int, grad: Any) -> Any:
        if grad is None:
            if not self.materialize:
                return None
            shape, dtype = self.meta(number)
            return Tensor(np.zeros(shape, dtype.np), dtype)
        return grad if type(grad) is Tensor else Tensor(grad, self.meta(number)[1])

    def _checked(self, index: int, result: Any, traced: bool) -> Any:
        """A gradient that backward returned. Raises RuntimeError for another type or a shape that cannot be summed to the input's."""
        if result is None:
            return None
        if type(result) is not Tensor:
            raise runtime_error(f"expected Variable or None (got {language.type_name(result)})")
        node, number = self.edges[index]
        if node is None:  # hooks of this node see it
            return result
        shape = node.meta(number)[0]
        if not broadcasts_to(shape, result.array.shape):
            raise shape_error(
                f"Function {self.type_name} returned an invalid gradient at index {index} - got {list(result.array.shape)} but expected "
                f"shape compatible with {list(shape)}"
            )
        return result if traced else result.array


def apply(functions: Functions, args: tuple[Any, ...]) -> Any:
    """`Function.apply(*args)`: the outputs of forward, with one node for them. Raises NotImplementedError without a forward."""
    if functions.forward is None:
        raise ProgramError("NotImplementedError", _MISSING_FORWARD)
    tensors = [arg for arg in args if type(arg) is Tensor]
    needed = state.enabled and any(tensor.requires_grad for tensor in tensors)
    if state.transforms:
        _check_transforms(functions, needed, bool(tensors))
        if functions.vmap is not None and state.transforms[-1] == "vmap" and any(tensor.batch is not None for tensor in tensors):
            return state.mapped[-1].by_rule(functions.vmap, lambda *given: apply(functions, given), args)
        if state.mapped and any(state.mapped[-1].is_recorded_outside(tensor) for tensor in tensors):
            refusal = ProgramError("NotImplementedError", "this function within vmap is not part of gradcli")
            return state.mapped[-1].by_samples(lambda *given: apply(functions, given), args, refusal)
    dual = state.dual
    if dual is not None and (dual.paused or all(dual.tangent_of(tensor) is None for tensor in tensors)):
        dual = None
    if dual is not None:
        if functions.jvp is None:
            raise ProgramError("NotImplementedError", _MISSING_JVP)
        given = [dual.tangent_of(arg) for arg in args]
        dual.paused = True
    edges = tuple([tensor.edge() for tensor in tensors]) if needed else ((None, 0),) * len(tensors)
    first = next((tensor.dtype for tensor in tensors), None)
    ctx = FunctionNode(functions, edges, first or _default_dtype(), args)
    try:
        with recording(False):
            if functions.setup_context is None:
                found = functions.forward(ctx, *args)
            else:
                if functions.vmap is None or not state.mapped:
                    found = functions.forward(*args)
                else:
                    found = state.mapped[-1].by_rule(functions.vmap, functions.forward, args)
                functions.setup_context(ctx, args, found)
        outputs = list(found) if isinstance(found, tuple) else [found]
        made = connected(ctx, outputs, tensors, needed)
        if dual is not None and functions.jvp is not None:
            push_tangents(dual, ctx, functions.jvp, args, given, made)
        ctx.kept_for_jvp, ctx.connected = None, True
    finally:
        if dual is not None:
            dual.paused = False
    return tuple(made) if isinstance(found, tuple) else made[0]


def _check_transforms(functions: Functions, needed: bool, mapped: bool) -> None:
    """Raise PyTorch's errors for a function that lacks what the running transforms of torch.func ask for."""
    if functions.setup_context is None:
        raise runtime_error(_NO_SETUP_CONTEXT)
    if mapped and "vmap" in state.transforms and functions.maps is (functions.vmap is not None):
        raise runtime_error((_TWO_RULES if functions.maps else _NO_VMAP).format(functions.name))
    if needed and "jvp" in state.transforms and functions.jvp is None:
        raise ProgramError("NotImplementedError", _MISSING_JVP)


def _default_dtype() -> DType:
    from gradcli.core.tensor import dtypes

    return dtypes.get_default()


class Function(Scripted):
    """The base of custom functions. It has no instances: `apply` is called on the class."""

    SCRIPT_NAME = "Function"
    #: classes of programs may derive from it
    BASE_OF = "functions"

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        """Nothing: PyTorch only warns of instances."""


FUNCTION = script_type(Function, "torch.autograd.function")
#: what the ctx of a custom function is an instance of
FUNCTION_CTX, BACKWARD_FUNCTION = (
    ScriptType(name, "torch.autograd.function", None, lambda value: isinstance(value, FunctionNode))
    for name in ("FunctionCtx", "BackwardCFunction")
)
