"""Elementwise chains on large arrays, block by block.

A fresh large array costs more in page faults than the arithmetic that fills it. So an elementwise operation on an
array of `threshold` elements or more is not carried out: it returns a `Deferred`, which looks like the array and
remembers the operation. When values are needed, the whole chain runs over blocks small enough to stay in the cache,
on all cores (numpy releases the interpreter lock), and only the end of the chain is written to memory; a sum over
everything writes nothing at all. Backward works on the same objects, and so recomputes inside the block what it needs.

A chain reads its source arrays when it runs: whoever writes an array in place calls `settle()` first, which carries
out every chain that is still waiting. A Deferred that takes part in a third run is stored on the way, so that loops
do not repeat work without end. The rest of the core may treat a Deferred as an array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradcli.core.kernels import Array

#: elements from which on operations wait; fewer are carried out at once: they fit in the cache as they are
threshold = 1 << 19
#: elements of one block: some of them stay in a core's second-level cache, and threads seldom ask for the interpreter lock
BLOCK = 1 << 17
#: elements that a kernel of many steps takes at a time: some dozen arrays of them stay in the cache
PIECE = 1 << 14
#: a chain longer than this is carried out before it grows further
_DEEPEST = 64

#: chains that wait; a plain dictionary, since every in-place write asks whether it is empty
_waiting: dict[int, weakref.ref[Deferred]] = {}

#: reductions of everything that run inside the blocks, with the ufunc that joins the parts
FUSED = {np.add: np.add, np.maximum: np.maximum, np.minimum: np.minimum}

_dtypes: dict[Any, np.dtype[Any]] = {}


#: the integers that have as many bits as elements
_BITS: dict[np.dtype[Any], Any] = {np.dtype("f4"): np.int32, np.dtype("f8"): np.int64, np.dtype("i8"): np.int64}


def where_into(condition: Any, a: Any, b: Any, out: Array) -> None:
    """`out` is `a` where the condition holds, else `b`."""
    bits = _BITS.get(out.dtype) if out.size >= PIECE >> 4 else None
    if bits is not None:
        held = np.count_nonzero(condition)
        if min(held, out.size - held) <= out.size >> 6:
            bits = None
    if bits is None:
        np.copyto(out, b)
        np.copyto(out, a, where=condition)
        return
    # by masks of bits, since to branch at each element of an irregular condition takes ten times as long
    kept, other = (np.asarray(x, out.dtype).view(bits) for x in (a, b))
    np.bitwise_xor((kept ^ other) & np.negative(condition, dtype=bits), other, out=out.view(bits))


def where(condition: Any, a: Any, b: Any) -> Any:
    """`np.where`, by masks of bits for many elements in row-major order."""
    if not isinstance(condition, np.ndarray) or condition.size < PIECE >> 2 or condition.dtype != np.bool_:
        return np.where(condition, a, b)
    condition, shape = condition.view(np.ndarray), condition.shape
    plain = condition.flags.c_contiguous and 1 not in shape and Deferred not in (type(a), type(b))
    if not plain or not (fits(a, shape) and fits(b, shape)) or (dtype := np.result_type(a, b)) not in _BITS:
        return np.where(condition, a, b)
    made = np.empty(shape, dtype)
    flat = [_operand(x) for x in (condition, a, b, made)]
    flat = [x.reshape(-1) if isinstance(x, np.ndarray) and x.ndim else x for x in flat]
    for start in range(0, made.size, PIECE):
        where_into(*[x[start : start + PIECE] if isinstance(x, np.ndarray) and x.ndim else x for x in flat])
    return made


def cast_into(a: Any, out: Array) -> None:
    """`out` is `a` in another dtype."""
    np.copyto(out, a, casting="unsafe")


class Deferred(NDArrayOperatorsMixin):
    """An array that is computed when its elements are needed, from `step` and `inputs`. `value` is None before that."""

    __slots__ = ("step", "inputs", "shape", "dtype", "depth", "runs", "value", "__weakref__")

    def __init__(self, step: Any, inputs: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.step = step
        self.inputs = inputs
        self.shape = shape
        self.dtype = dtype
        self.depth: int = 1 + max((i.depth for i in inputs if type(i) is Deferred), default=0)
        #: how many runs have computed it without storing it
        self.runs = 0
        self.value: Array | None = None
        if step is not None:
            # called without code of Python, in which an interrupt would be lost
            _waiting[id(self)] = weakref.ref(self, partial(_waiting.pop, id(self)))

    # --- attributes that need no elements ---

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def is_row_major(self) -> bool:
        """Whether the array is in row-major order: that of a number that is repeated is not."""
        return self.value is None or self.value.flags.c_contiguous

    # --- everything else computes the elements ---

    def force(self) -> Array:
        """The array itself."""
        if self.value is None:
            _run(self, None)
        assert self.value is not None
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        value = self.force()
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__array_"):  # numpy asks for these before `__array__`, and would refer to this object from then on
            raise AttributeError(name)
        return getattr(self.force(), name)

    def __getitem__(self, index: Any) -> Any:
        return self.force()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.force()[index] = value

    def __iter__(self) -> Any:
        return iter(self.force())

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The array in another dtype; deferred for a floating dtype without further options."""
        wanted = np.dtype(dtype)
        if options or wanted.kind != "f":
            return self.force().astype(dtype, **options)
        return Deferred(cast_into, (self,), self.shape, wanted)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if (
            method == "__call__"
            and not options
            and ufunc.nout == 1
            and ufunc.signature is None
            and all(fits(i, self.shape) for i in inputs)
        ):
            return _defer(ufunc, inputs, self.shape)
        if method == "reduce" and ufunc in FUSED and len(inputs) == 1 and is_of_everything(self, options):
            total = _run(self, ufunc) if self.value is None else reduced(ufunc, self.value)
            return np.reshape(total, (1,) * self.ndim) if options.get("keepdims") else total
        plain = [i.force() if type(i) is Deferred else i for i in inputs]
        if "out" in options:
            options["out"] = tuple(o.force() if type(o) is Deferred else o for o in options["out"])
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is np.where and len(args) == 3 and not kwargs and all(fits(a, self.shape) for a in args):
            return _defer_where(args, self.shape)
        return function(*_forced(args), **{k: _forced(v) for k, v in kwargs.items()})


def _forced(value: Any) -> Any:
    if type(value) is Deferred:
        return value.force()
    if isinstance(value, (tuple, list)):
        return type(value)(_forced(v) for v in value)
    return value


def defer(array: Any) -> Any:
    """A large row-major array, or a number broadcast to a large shape, as the start of a chain; other arrays as they are."""
    if type(array) is not np.ndarray or array.size < threshold or not array.ndim:
        return array
    if not array.flags.c_contiguous and any(array.strides):
        return array
    if array.dtype.kind != "f" or (1 in array.shape and array.strides != np.empty(array.shape, array.dtype).strides):
        return array
    made = Deferred(None, (), array.shape, array.dtype)
    made.value = array
    return made


_memory_is_kept = False


def keep_freed_memory() -> None:
    """Ask the C library to keep what large arrays give back: handing pages to the system and taking them again costs
    more than computing. Where there is no mallopt, nothing happens."""
    global _memory_is_kept
    if _memory_is_kept:
        return
    _memory_is_kept = True
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
    mallopt(-1, 1 << 30)  # M_TRIM_THRESHOLD


def in_pieces(kernel: Callable[..., Array]) -> Callable[..., Any]:
    """A function of arrays from an elementwise kernel of many steps, which gets flat arrays of some elements; on a chain, it waits.

    The result has the dtype of the first array. Others have its shape (see `fits`), or are numbers.
    """

    def into(*arrays: Any, out: Array) -> None:
        for start in range(0, out.size, PIECE):
            out[start : start + PIECE] = kernel(*[x[start : start + PIECE] if np.ndim(x) else x for x in arrays])

    @wraps(kernel)
    def compute(x: Any, *others: Any) -> Any:
        if type(x) is Deferred or Deferred in map(type, others):
            return Deferred(into, (x, *map(_operand, others)), x.shape, x.dtype)
        x = np.asarray(x)
        flat = [one.reshape(-1) if np.ndim(one) else one for one in (x.reshape(-1), *map(_operand, others))]
        if x.size <= PIECE:
            return kernel(*flat).reshape(x.shape)
        out = np.empty_like(flat[0])
        into(*flat, out=out)
        return out.reshape(x.shape)

    return compute


def settle() -> None:
    """Carry out every waiting chain. To be called before an array is written in place."""
    if _waiting:
        for reference in list(_waiting.values()):
            waiting = reference()
            if waiting is not None:
                waiting.force()


def fits(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether an operand can be cut into the same blocks: same shape and row-major, or a single number."""
    if type(value) is Deferred:
        return value.shape == shape
    if type(value) is np.ndarray:
        if value.shape == shape:
            return value.flags.c_contiguous or not any(value.strides)
        return value.size == 1 and value.ndim <= len(shape)
    return isinstance(value, (int, float, np.generic))


def _operand(value: Any) -> Any:
    """An operand as a chain keeps it: arrays of equal elements become 0-d arrays, which numpy promotes like the array."""
    if type(value) is np.ndarray and (value.size == 1 or not any(value.strides)):
        return value[(0,) * value.ndim] if value.ndim else value[()]
    if type(value) is Deferred and value.value is not None and value.size > 1 and not any(value.value.strides):
        return value.value[(0,) * value.ndim]
    return value


def _kind(value: Any) -> Any:
    """All that numpy's promotion depends on: the type of a Python number, the dtype of anything else."""
    kind = type(value)
    return kind if kind is float or kind is int or kind is bool else value.dtype


def result_dtype(ufunc: Any, operands: Sequence[Any]) -> np.dtype[Any]:
    """The dtype of what a function of numpy with one result gives."""
    key = (ufunc, *map(_kind, operands))
    dtype = _dtypes.get(key)
    if dtype is None:
        kinds = tuple(int if k is bool else k for k in key[1:])
        dtype = _dtypes[key] = ufunc.resolve_dtypes((*kinds, None))[-1]
    return dtype


def _defer(ufunc: Any, inputs: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    operands = tuple(_operand(i) for i in inputs)
    dtype = result_dtype(ufunc, operands)
    if not any(type(o) is Deferred or (type(o) is np.ndarray) for o in operands):
        return np.broadcast_to(ufunc(*operands), shape)
    for o in operands:
        if type(o) is Deferred and o.depth >= _DEEPEST:
            o.force()
            o.depth = 0
    return Deferred(ufunc, operands, shape, dtype)


def _defer_where(args: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    operands = tuple(_operand(a) for a in args)
    dtype = np.result_type(*(o.dtype if type(o) is Deferred else o for o in operands[1:]))
    return Deferred(where_into, operands, shape, dtype)


def reduced(ufunc: Any, array: Array) -> Any:
    """The reduction of all elements of a large array, in the order in which a chain is reduced."""
    if not array.flags.c_contiguous:
        return ufunc.reduce(array, axis=None)
    flat, block = array.reshape(-1), BLOCK
    return ufunc.reduce(np.array([ufunc.reduce(flat[start : start + block]) for start in range(0, array.size, block)]))


def is_of_everything(array: Any, options: dict[str, Any]) -> bool:
    """Whether a reduction with these options is over all dimensions, and without anything else."""
    axis = options.get("axis", 0)
    if any(options.get(name) is not None for name in ("out", "dtype", "initial")) or options.get("where", True) is not True:
        return False
    if axis is None:
        return True
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return bool(len(axes) == array.ndim)


def _in_order(root: Deferred) -> list[Deferred]:
    """The chain, operands before what uses them; iterative, since chains can be long."""
    order: list[Deferred] = []
    state: dict[int, bool] = {}
    stack: list[Deferred] = [root]
    while stack:
        node = stack[-1]
        if state.get(id(node)):
            stack.pop()
            continue
        below = [] if node.value is not None else [i for i in node.inputs if type(i) is Deferred and not state.get(id(i))]
        if below and id(node) not in state:
            state[id(node)] = False
            stack.extend(below)
            continue
        state[id(node)] = True
        order.append(node)
        stack.pop()
    return order


def _run(root: Deferred, reduction: Any) -> Any:
    """Compute a chain into `root.value`, or reduce it to one number. What has a value then forgets its step and inputs."""
    from gradcli.core.kernels.block_program import BlockProgram, Reduction, Step  # for large arrays alone

    chain = _in_order(root)
    places: dict[int, int] = {}
    #: arrays and numbers by place
    values: list[Any] = []
    cut: list[int] = []
    steps: list[Step] = []

    def place_of(value: Any) -> int:
        """The place of an operand, which is a flat array or a single number."""
        at = places.get(id(value))
        if at is None:
            at = places[id(value)] = len(values)
            values.append(value)
            if type(value) is np.ndarray and value.ndim:
                cut.append(at)
                values[at] = value.reshape(-1)
        return at

    #: what is written to memory, which nodes get when all is done
    stored: list[tuple[Deferred, Array]] = []

    def store(node: Deferred) -> None:
        """Have the values of a node written to memory."""
        value = np.empty(node.shape, node.dtype)
        stored.append((node, value))
        values[places[id(node)]] = value.reshape(-1)
        cut.append(places[id(node)])

    for node in chain:
        places[id(node)] = len(values)
        values.append(None)
        if node.value is not None:
            values[-1] = node.value.reshape(-1)
            cut.append(len(values) - 1)
            continue
        step = Step(node.step, tuple([place_of(one) for one in node.inputs]), places[id(node)], node.dtype)
        steps.append(step)
        node.runs += 1
        if node.runs > 2 and node is not root:
            store(node)
    reductions = [] if reduction is None else [Reduction(reduction, places[id(root)], root.dtype)]
    if reduction is None:
        store(root)
    found = BlockProgram(steps, cut, reductions).run(values, root.size, BLOCK)
    for node, value in stored:
        node.value = value
        node.step, node.inputs, node.depth = None, (), 0
        _waiting.pop(id(node), None)
    return found[0] if found else None
