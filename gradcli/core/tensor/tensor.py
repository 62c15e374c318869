"""The tensor: a numpy array with a dtype, a place in the graph, and a version that views share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradcli.core.kernels import Array
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.node import NO_EDGE, AccumulateGrad, Edge, Node, Nowhere
from gradcli.core.tensor.state import state
from gradcli.errors import Code, runtime_error


class Provided:
    """What tensors need of the wings above this one. `gradcli.core` provides it."""

    __slots__ = ("operators", "refresh_view")

    #: the functions behind Python's operators on tensors, by symbol
    operators: dict[str, Callable[..., Any]]
    #: gives a view a new node when its base has been written to in place
    refresh_view: Callable[[Tensor], None]


provided = Provided()


class Size(tuple[int, ...]):
    """`torch.Size`: a tuple that prints its name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        count = 1
        for size in self:
            count *= size
        return count


Size.__name__ = "torch.Size"  # which Python's messages about operands show


class Version:
    """How often a storage was written in place; shared by a base, its views and its detached aliases."""

    __slots__ = ("count", "views")

    def __init__(self) -> None:
        self.count = 0
        #: views taken while the base required no gradient; when an in-place write makes it require one, they do so too
        self.views: list[weakref.ref[Tensor]] = []


class View:
    """What a differentiable view knows: its base, the version that its node belongs to, and how it was made."""

    __slots__ = ("base", "version", "creation", "source", "steps")

    def __init__(self, base: Tensor, version: int, creation: str, source: str) -> None:
        self.base = base
        self.version = version
        #: "default", "multi" (an output of split, unbind ...), "function" (of a custom function), "no_grad" or "inference"
        self.creation = creation
        #: the operation's name without `Backward0`, for messages
        self.source = source
        #: how it is made of the base again, where its numbers are others: operations with the arrays that they made, None for `as_strided`
        self.steps: tuple[tuple[Any, Array], ...] = ()


class Tensor:
    """A tensor. `array` always is an ndarray (0-d too); views of the storage are numpy views of one buffer."""

    __slots__ = ("array", "dtype", "requires_grad", "grad", "node", "output_nr", "version", "view", "meta", "accumulator", "__weakref__")

    array: Array

    def __init__(self, array: Array, dtype: DType) -> None:
        self.array = array
        self.dtype = dtype
        self.requires_grad = False
        self.grad: Tensor | None = None
        self.node: Node | None = None
        self.output_nr = 0
        self.version: Version | None = None
        self.view: View | None = None
        #: rare properties: "parameter", "retains_grad", "hooks", "inference", "counted" (an inference tensor that counts
        #: writes), "columns", "leaf", "fields" (of programs);
        #: tensors share those they begin with
        self.meta: dict[str, Any] | None = state.within
        self.accumulator: weakref.ref[AccumulateGrad] | None = None

    # --- place in the graph ---

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor, None for leaves. A view whose base was written to gets a fresh node."""
        view = self.view
        stale = view is not None and self.version is not None and view.version != self.version.count
        if stale and view is not None and (self.node is not None or view.base.requires_grad):
            provided.refresh_view(self)
        return self.node

    @property
    def is_leaf(self) -> bool:
        """True unless an operation that was recorded made this tensor."""
        return self.grad_fn is None

    def edge(self) -> Edge:
        """Where gradients for this tensor go: its node, or the accumulator of a leaf that requires grad."""
        if self.node is not None:
            return (self.node if self.view is None else self.grad_fn), self.output_nr
        if not self.requires_grad:
            return NO_EDGE
        view = self.view
        if view is not None and (view.creation != "default" or (view.base.requires_grad and not self.property_of("leaf"))):
            # a view that follows its base has no node, which is PyTorch's error if the base was written to meanwhile
            node = self.grad_fn
            if node is not None or not self.property_of("leaf"):
                return (Nowhere((), self.array.shape, self.dtype) if node is None else node), 0
        return self.sink(), 0

    def sink(self) -> AccumulateGrad:
        """The accumulator of this leaf. There is at most one, and only the graph that uses it keeps it alive."""
        known = self.accumulator
        if known is not None:
            alive = known()
            if alive is not None:
                return alive
        made = AccumulateGrad(self)
        hooks = self.property_of("hooks")
        if hooks:
            made.hooks, made.plain = hooks, False
        self.accumulator = weakref.ref(made)
        return made

    # --- versions ---

    def counter(self) -> Version:
        """The version counter, made on first use."""
        if self.version is None:
            self.version = Version()
        return self.version

    @property
    def version_number(self) -> int:
        """`_version`: the number of in-place writes."""
        return 0 if self.version is None else self.version.count

    def property_of(self, name: str) -> Any:
        """One of the rare properties, None when unset."""
        return None if self.meta is None else self.meta.get(name)

    def set_property(self, name: str, value: Any) -> None:
        """Set one of the rare properties."""
        self.meta = {**self.meta, name: value} if self.meta else {name: value}

    @property
    def captured(self) -> bool:
        """Inside torch.func, whether the tensor was made outside the innermost level, or shares its memory with one that was."""
        if state.within is None:
            return False
        made = self.property_of("levels")
        return not made or made[-1] is not state.within["levels"][-1] or bool(self.property_of("captured"))

    def inherit(self, source: Tensor, *names: str) -> None:
        """Have those of a source's properties that are true; inside torch.func also that its memory was made outside."""
        kept = {name: True for name in names if source.property_of(name)}
        if source.captured:
            kept["captured"] = True
        self.meta = {**kept, **(state.within or {})} or None

    @property
    def batch(self) -> Any:
        """The array of a tensor that vmap has batched, which has no elements; None for another tensor."""
        return self.array if hasattr(type(self.array), "BATCHED") else None

    # --- shape and values ---

    @property
    def shape(self) -> Size:
        """The shape as `torch.Size`."""
        return Size(self.array.shape)

    @property
    def is_parameter(self) -> bool:
        """Whether this is an `nn.Parameter`."""
        return self.meta is not None and bool(self.meta.get("parameter"))

    def dim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    def item(self) -> Any:
        """The only element as a Python number, which may be complex. Raises RuntimeError for another number of elements."""
        if self.array.size != 1:
            text = f"a Tensor with {self.array.size} elements cannot be converted to Scalar"
            raise runtime_error(text, Code.MANY_ELEMENTS_AS_NUMBER)
        return self.array.item()

    def number(self) -> Any:
        """`item()` where a call takes a tensor for a number. Raises PyTorch's RuntimeError for a tensor that vmap has batched."""
        return state.mapped[-1].number_of(self) if state.mapped else self.item()

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for 0-d."""
        return self.array.tolist()

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("core tensors are not iterated; use unbind")

    def __bool__(self) -> bool:
        raise TypeError("core tensors have no truth value; use operators.truth")

    # --- operators, for code in the core; the language has functions of its own for each operator ---

    def __add__(self, other: Any) -> Any:
        return provided.operators["+"](self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return provided.operators["-"](self, other)

    def __rsub__(self, other: Any) -> Any:
        return provided.operators["-"](other, self)

    def __mul__(self, other: Any) -> Any:
        return provided.operators["*"](self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return provided.operators["/"](self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return provided.operators["/"](other, self)

    def __pow__(self, other: Any) -> Any:
        return provided.operators["**"](self, other)

    def __rpow__(self, other: Any) -> Any:
        return provided.operators["**"](other, self)

    def __neg__(self) -> Any:
        return provided.operators["neg"](self)

    # a tensor that is given for the name of a mode is looked up among texts
    def __eq__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, str | tuple) else provided.operators["=="](self, other)

    def __ne__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, str | tuple) else provided.operators["!="](self, other)

    def __lt__(self, other: Any) -> Any:
        return provided.operators["<"](self, other)

    def __le__(self, other: Any) -> Any:
        return provided.operators["<="](self, other)

    def __gt__(self, other: Any) -> Any:
        return provided.operators[">"](self, other)

    def __ge__(self, other: Any) -> Any:
        return provided.operators[">="](self, other)

    def __hash__(self) -> int:
        return id(self)


def wrap(array: Array | np.generic | float, dtype: DType | None = None) -> Tensor:
    """A plain tensor of an array (or numpy scalar), which it shares; `dtype` only where the array cannot tell (bfloat16)."""
    if type(array) is not np.ndarray and not hasattr(type(array), "BATCHED"):
        array = np.asarray(array)
    return Tensor(array, dtypes.of(array.dtype) if dtype is None else dtype)  # type: ignore[arg-type, union-attr]


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros of the shape and dtype of `tensor`, without history."""
    return Tensor(np.zeros(tensor.array.shape, tensor.dtype.np), tensor.dtype)


def ones_like(tensor: Tensor) -> Tensor:
    """Ones of the shape and dtype of `tensor`, without history."""
    return Tensor(np.ones(tensor.array.shape, tensor.dtype.np), tensor.dtype)
