"""PyTorch's CPU random numbers: the Mersenne Twister MT19937 and the distributions drawn from it, number for number.

The 32-bit draws come from the standard library's `random.Random`, the same twister, which is at hand in 2 ms where
`numpy.random` takes 45. What follows a draw is arithmetic, done as PyTorch 2.13 does it on x86-64 processors with AVX2:
a multiplication followed by an addition is fused (rounded once), and large float32 normals go through Cephes polynomials.
The distributions are documented in PyTorch's headers ATen/core/DistributionsHelper.h and TransformationHelper.h.

Methods return fresh arrays in C order, in the storage of `dtype`.
"""

from __future__ import annotations

import copy
import functools
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli.core.kernels import Array, memory_format
from gradcli.core.random import checks
from gradcli.core.random.normals import box_muller32, box_muller64, each, fma32, fma64
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.dtypes import DType
from gradcli.errors import UNMET, ProgramError, runtime_error, shape_error

if TYPE_CHECKING:
    from random import Random

Shape = tuple[int, ...]

#: The seed of a new Generator (c10::default_rng_seed_val).
DEFAULT_SEED = 67280421310721

_STATE_WORDS = 624
_CHUNK = 1 << 14
_MASK64 = 2**64 - 1
#: The layout of `torch.get_rng_state()`, 5056 bytes; `left` counts the words before the next twist, plus one.
_STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (_STATE_WORDS,)),
        ("unused", "<f8"),
        ("spare", "<f8"),
        ("unused_rho", "<f8"),
        ("has_spare", "<i8"),
        ("unused_float", "<f8"),
    ]
)


class Generator:
    """A stream of random numbers, `torch.Generator`.

    `_source` is made at the first draw, from `_start` (a restored state) or from the seed. `_spare` is the second normal
    of a pair: draws of fewer than 16 normals keep it for the next such draw, whatever is drawn in between.
    `python` and `numpy` have the numbers of Python's module `random` and of `numpy.random`, which the default generator of a session keeps.
    """

    __slots__ = ("_seed", "_source", "_spare", "_start", "numpy", "python")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._seed = seed
        self._source: Random | None = None
        self._start: tuple[int, ...] | None = None
        self._spare: float | None = None
        self.python: Random | None = None
        self.numpy: np.random.RandomState | None = None

    def fields(self) -> tuple[Any, ...]:
        """All fields, in the order of the slots."""
        return (self._seed, self._source, self._spare, self._start, self.numpy, self.python)

    def put(self, values: tuple[Any, ...]) -> None:
        """Set all fields, in the order of the slots."""
        self._seed, self._source, self._spare, self._start, self.numpy, self.python = values

    def copied(self, deep: bool) -> Generator:
        """A stream of its own that goes on alike."""
        made = Generator()
        made.put(tuple(map(copy.copy, self.fields())))
        return made

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from `seed` (negative seeds count modulo 2**64); forgets a kept normal. Returns the generator."""
        if not checks.LOWEST64 <= seed <= _MASK64:
            raise ProgramError("ValueError", "Overflow when unpacking long long")
        self._seed = seed & _MASK64
        self._source = self._start = self._spare = None
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's, which is returned."""
        return self.manual_seed(int.from_bytes(os.urandom(8), "little")).initial_seed()

    def initial_seed(self) -> int:
        """The seed last given."""
        return self._seed

    def get_state(self) -> Array:
        """The state as 5056 bytes (uint8), laid out as torch's."""
        state = np.zeros((), _STATE)
        words, position = self._position()
        state["seed"], state["seeded"], state["words"] = self._seed, 1, words
        state["next"], state["left"] = position, _STATE_WORDS + 1 - (position or _STATE_WORDS)
        if self._spare is not None:
            state["spare"], state["has_spare"] = self._spare, 1
        return np.frombuffer(state.tobytes(), np.uint8).copy()

    def set_state(self, state: Array) -> None:
        """Take up a state of `get_state`. RuntimeError or TypeError, in torch's words, for anything else."""
        from random import Random

        if state.dtype != np.uint8:
            raise ProgramError("TypeError", "RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            size = f"{_STATE.itemsize} but found the input RNG state size to be {state.size}"
            raise shape_error(f"Expected a CPUGeneratorImplState of size {size}")
        held = np.frombuffer(state.tobytes(), _STATE)[0]
        position = int(held["next"])
        if held["seeded"] != 1 or not 0 < held["left"] <= _STATE_WORDS or position > _STATE_WORDS:
            raise runtime_error("Invalid mt19937 state")
        words = tuple(w & 0xFFFFFFFF for w in held["words"].tolist())
        self.manual_seed(int(held["seed"]))
        self._start = words
        if position:
            self._source = Random()
            self._source.setstate((3, (*words, position), None))
        if held["has_spare"]:
            self._spare = float(held["spare"])

    def _position(self) -> tuple[tuple[int, ...], int]:
        """The 624 words and how many are used up; 0 before the first draw."""
        if self._source is None:
            return self._start or _seed_words(self._seed & 0xFFFFFFFF), 0
        inner = self._source.getstate()[1]
        return inner[:_STATE_WORDS], inner[_STATE_WORDS]

    # ---- raw draws

    def _begin(self) -> Random:
        from random import Random

        words, _ = self._position()
        self._source = Random()
        self._source.setstate((3, (*words, _STATE_WORDS), None))
        return self._source

    def _words(self, count: int) -> Array:
        """`count` draws of 32 bits."""
        if not count:
            return np.empty(0, np.uint32)
        source = self._source or self._begin()
        if count <= _CHUNK:
            return np.frombuffer(source.randbytes(4 * count), "<u4")
        out = np.empty(count, np.uint32)
        for at in range(0, count, _CHUNK):  # one huge integer would cost more memory and time than many of 64 kB
            part = out[at : at + _CHUNK]
            part[:] = np.frombuffer(source.randbytes(4 * part.size), "<u4")
        return out

    def _words64(self, count: int) -> Array:
        """`count` draws of 64 bits: two of 32, the high half first."""
        pairs = self._words(2 * count).reshape(-1, 2)
        return (pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1]

    def _single(self, count: int) -> Array:
        """float32 uniforms in [0, 1): the low 24 bits of a draw."""
        out: Array = (self._words(count) & np.uint32(0xFFFFFF)).astype(np.float32)
        out *= np.float32(2.0**-24)
        return out

    def _double(self, count: int) -> Array:
        """float64 uniforms in [0, 1): the low 53 bits of a draw of 64."""
        pairs = self._words(2 * count).reshape(-1, 2)
        out: Array = (pairs[:, 0] & np.uint32(0x1FFFFF)).astype(np.float64)
        out *= 2.0**32
        out += pairs[:, 1]
        out *= 2.0**-53
        return out

    def one_uniform(self) -> float:
        """One float64 uniform in [0, 1)."""
        draws = (self._source or self._begin()).getrandbits(64)
        return ((draws & 0x1FFFFF) << 32 | draws >> 32) * 2.0**-53

    def one_normal(self) -> float:
        """One float64 standard normal, of a pair."""
        return self._normal_pairs(1)[0]

    # ---- continuous distributions

    def uniform(self, shape: Shape, dtype: DType = dtypes.float32, low: float = 0.0, high: float = 1.0) -> Array:
        """`uniform_(low, high)`, `rand`. RuntimeError for bounds in the wrong order or out of the dtype's range."""
        checks.uniform_bounds(dtype, low, high)
        count = math.prod(shape)
        standard = low == 0.0 and high == 1.0
        if dtype is dtypes.float64:
            out = self._double(count)
            if not standard:
                out = fma64(out, high - low, low)
        else:
            out = self._single(count)
            if not standard:
                low32 = np.float32(low)
                out = fma32(out, float(np.float32(high) - low32), float(low32))
            out = _narrow(out, dtype)
        if not standard or dtype.itemsize == 2:  # rounding may have reached the upper bound, which is not in the range
            first, last = _narrow(np.array([low, high]), dtype)
            out[out == last] = first
        return out.reshape(shape)

    def normal(self, shape: Shape, dtype: DType = dtypes.float32, mean: float = 0.0, std: float = 1.0, *, contiguous: bool = True) -> Array:
        """`normal_(mean, std)`, `randn`: Box-Muller, in runs of 16 or, for fewer or not contiguous elements, in pairs."""
        if not std >= 0.0:
            raise runtime_error(f"normal expects std >= 0.0, but found std {std:g}")
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype.np)
        checks.require_float(dtype, "normal_kernel_cpu")
        if count < 16 or not contiguous:
            out = np.array(self._normal_pairs(count))
            if mean != 0.0 or std != 1.0:
                out = fma64(out, std, mean)
        else:
            out = self._normal_runs(count, dtype, mean, std)
        return _narrow(out, dtype).reshape(shape)

    def _normal_pairs(self, count: int) -> list[float]:
        """Standard normals one after the other; the second of the last pair may be kept."""
        bits = (self._source or self._begin()).getrandbits
        out: list[float] = []
        while len(out) < count:
            if self._spare is not None:
                out.append(self._spare)
                self._spare = None
                continue
            draws = bits(128)  # four draws, the first lowest
            angle = math.tau * (((draws & 0x1FFFFF) << 32 | draws >> 32 & 0xFFFFFFFF) * 2.0**-53)
            radius = math.sqrt(-2.0 * math.log1p(-(((draws >> 64 & 0x1FFFFF) << 32 | draws >> 96) * 2.0**-53)))
            self._spare = radius * math.sin(angle)
            out.append(radius * math.cos(angle))
        return out

    def _normal_runs(self, count: int, dtype: DType, mean: float, std: float) -> Array:
        """16 or more normals. Where 16 does not divide `count`, the last 16 are drawn again."""
        double = dtype is dtypes.float64
        draw: Callable[[int], Array] = self._double if double else self._single
        transform = box_muller64 if double else box_muller32
        whole = count - count % 16
        uniforms = draw(whole if dtype.itemsize == 2 else count)[:whole]  # 16-bit floats do not draw for the tail in advance
        if whole == count:
            return transform(uniforms, mean, std)
        normals = transform(np.concatenate((uniforms, draw(16))), mean, std)
        out = normals[:count]
        out[-16:] = normals[whole:].copy()
        return out

    def normal_tensors(self, mean: Array | float, std: Array | float, dtype: DType = dtypes.float32) -> Array:
        """`torch.normal` with a tensor for the mean, the deviation or both; shapes must broadcast."""
        shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        if not isinstance(std, np.ndarray):
            out = self.normal(shape, dtype, 0.0, std)
        else:
            if std.size and not std.min() >= 0:
                raise runtime_error("normal expects all elements of std >= 0.0")
            out = dtypes.cast(self.normal(shape, dtype) * std, dtype)
        centre = mean if isinstance(mean, np.ndarray) else dtypes.cast(np.array([mean]), dtype)[0]
        return dtypes.cast(out + centre, dtype).reshape(shape)

    def exponential(self, shape: Shape, dtype: DType = dtypes.float32, lambd: float = 1.0) -> Array:
        """`exponential_(lambd)`: -log(1 - u) / lambd."""
        if not lambd > 0.0:
            raise runtime_error(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
        if not dtype.is_floating_point:
            if 0 in shape:
                return np.empty(shape, dtype.np)
            text = "Exponential distribution is a continuous probability distribution. dtype must be a floating point"
            raise runtime_error(f"{text} but you specified {dtype.torch_name}")
        out = -1.0 / lambd * each(math.log1p, -self._double(math.prod(shape)))
        return _narrow(out, dtype).reshape(shape)

    def log_normal(self, shape: Shape, dtype: DType = dtypes.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        """`log_normal_(mean, std)`: exp of a normal, which is always drawn in pairs."""
        if not std > 0.0:
            raise runtime_error(f"log_normal_ expects std > 0.0, but found std={std:g}")
        count = math.prod(shape)
        if not count:
            return np.empty(shape, dtype.np)
        checks.require_float(dtype, "log_normal_cpu")
        normals = fma64(np.array(self._normal_pairs(count)), std, mean)
        with np.errstate(over="ignore"):  # where numbers are so large that math.exp might raise, the last bit is numpy's
            out = np.where(normals < 700.0, each(math.exp, np.minimum(normals, 700.0)), np.exp(normals))
        return _narrow(out, dtype).reshape(shape)

    def cauchy(self, shape: Shape, dtype: DType = dtypes.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """`cauchy_(median, sigma)`: the tangent of a uniform angle."""
        if not sigma > 0.0:
            raise runtime_error(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        if not dtype.is_floating_point:
            text = "Cauchy distribution is a continuous probability distribution. dtype must be a floating point"
            raise runtime_error(f"{text} but you specified {dtype.c_name}")
        tangents = each(math.tan, math.pi * (self._double(math.prod(shape)) - 0.5))
        return _narrow(fma64(tangents, sigma, median), dtype).reshape(shape)

    # ---- discrete distributions

    def geometric(self, shape: Shape, dtype: DType, p: float) -> Array:
        """`geometric_(p)`: the number of trials up to the first success."""
        if not 0.0 < p < 1.0:
            raise runtime_error(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        if dtype is dtypes.bool_ and 0 not in shape:
            checks.refuse_dtype(dtype, "geometric_cpu")
        with np.errstate(divide="ignore"):
            trials = np.ceil(np.log(self._double(math.prod(shape))) / math.log1p(-p))
        return dtypes.cast(trials, dtype).reshape(shape)

    def randint(self, low: int, high: int | None, shape: Shape, dtype: DType = dtypes.int64) -> Array:
        """`randint(low, high)`, `random_(low, high)`: integers from `low` up to, without, `high`; None is the dtype's end.

        The remainder of a draw of 32 bits or, for a range of 2**28 or more, of 64. RuntimeError for an empty range or one
        that the dtype does not hold.
        """
        low, end = checks.integer_range(low, high, dtype)
        count, width = math.prod(shape), end - low
        if width > _MASK64:
            if count:
                checks.full_range(dtype)
            offsets = self._words64(count)
        elif width >= 2**28:
            offsets = self._words64(count) % np.uint64(width)
        else:
            offsets = self._words(count) % np.uint32(width)
        values = offsets.astype(np.int64)
        if width <= _MASK64:
            values += np.int64(low)  # wraps like torch's
        return _integers(values, dtype).reshape(shape)

    def random_full(self, shape: Shape, dtype: DType = dtypes.int64) -> Array:
        """`random_()`: integers from 0 up to the dtype's maximum, or as far as a float counts without gaps."""
        count = math.prod(shape)
        if dtype is dtypes.int64 or dtype is dtypes.float64:
            modulus = 2**63 if dtype is dtypes.int64 else 2**53 + 1
            values = (self._words64(count) % np.uint64(modulus)).astype(np.int64)
        elif dtype is dtypes.bool_:
            values = (self._words(count) & np.uint32(1)).astype(np.int64)
        else:
            modulus = 2 ** checks.DIGITS[dtype] + 1 if dtype.is_floating_point else int(np.iinfo(dtype.np).max) + 1
            values = (self._words(count) % np.uint32(modulus)).astype(np.int64)
        return _integers(values, dtype).reshape(shape)

    def randperm(self, n: int, dtype: DType = dtypes.int64) -> Array:
        """`randperm(n)`: Fisher-Yates from the front. RuntimeError where the dtype cannot hold n - 1."""
        checks.permutation(n, dtype)
        draw = self._words if n < (2**32 - 1) // 20 else self._words64
        steps = draw(max(n - 1, 0)) % np.arange(n, 1, -1, dtype=np.uint32 if n < 2**32 else np.uint64)
        items = list(range(n))
        for i, step in enumerate(steps.tolist()):
            j = i + step
            items[i], items[j] = items[j], items[i]
        return _integers(np.array(items, np.int64), dtype)

    def bernoulli(self, p: float | Array, shape: Shape | None = None, dtype: DType = dtypes.float32) -> Array:
        """`bernoulli_(p)`: 1 with probability p. A number or float64 tensor p draws doubles, other tensors single precision.

        `shape` defaults to the shape of a tensor `p`, which otherwise must broadcast to it.
        """
        if not isinstance(p, np.ndarray):
            if not 0.0 <= p <= 1.0:
                raise runtime_error(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            size: Shape = () if shape is None else shape
            return (self._double(math.prod(size)) < float(p)).astype(dtype.np).reshape(size)
        size = p.shape if shape is None else shape
        if 0 in size:
            return np.empty(size, dtype.np)
        checks.require_float(dtypes.of(p.dtype), "bernoulli_tensor_cpu_p_")
        flat = np.broadcast_to(p, size).ravel()
        draw: Callable[[int], Array] = self._double if p.dtype == np.float64 else self._single
        bad = np.flatnonzero(~((flat >= 0) & (flat <= 1)))
        if bad.size:
            draw(int(bad[0]))  # PyTorch has drawn for all elements before the one that it refuses
            raise runtime_error(UNMET.format("p_in >= 0 && p_in <= 1"))
        return (draw(flat.size) < flat).astype(dtype.np).reshape(size)

    def multinomial(
        self,
        weights: Array,
        num_samples: int,
        replacement: bool = False,
        dtype: DType | None = None,
        largest: Callable[[Array, int], Array] = lambda rows, count: np.argsort(-rows, -1, kind="stable")[..., :count],
    ) -> Array:
        """`torch.multinomial`: int64 indices, `num_samples` for each row of `weights` (1-d or 2-d).

        Without replacement the `largest` of weight / exponential, which finds them in rows; with it, a search in the cumulated weights.
        RuntimeError for weights that are no distribution.
        """
        dtype = dtypes.of(weights.dtype) if dtype is None else dtype
        checks.multinomial(weights, num_samples, replacement, dtype)
        if replacement and num_samples != 1:
            rows = [self._search(row, num_samples) for row in np.atleast_2d(weights)]
            return np.array(rows, np.int64).reshape(*weights.shape[:-1], num_samples)
        if not weights.size:
            return np.empty((*weights.shape[:-1], num_samples), np.int64)
        checks.weights_all_at_once(weights)
        # drawn in the order of memory of a tensor like the weights
        times = memory_format.filled(memory_format.empty_like(weights, dtype.np), lambda size: self.exponential(size, dtype))
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = dtypes.cast(weights / times, dtype)
        if num_samples == 1:
            return np.asarray(np.argmax(scores, -1, keepdims=True), np.int64)
        return largest(scores, num_samples)

    def _search(self, row: Array, num_samples: int) -> Array:
        """Draws with replacement from one row of weights."""
        precise = row if row.dtype == np.float64 else row.astype(np.float32)
        total = np.add.accumulate(precise, dtype=precise.dtype)  # one by one, as torch adds them
        checks.row_of_weights(precise, total)
        total /= total[-1]
        total[-1] = 1
        return np.searchsorted(total.astype(np.float64), self._double(num_samples), side="left")


def _narrow(values: Array, kind: DType) -> Array:
    """float64 or float32 values in a floating dtype; torch reaches the 16-bit ones through float32."""
    with np.errstate(over="ignore"):
        return dtypes.cast(values if kind is dtypes.float64 else values.astype(np.float32, copy=False), kind)


def _integers(values: Array, kind: DType) -> Array:
    """int64 values in any dtype."""
    return _narrow(values, kind) if kind.itemsize == 2 and kind.is_floating_point else dtypes.cast(values, kind)


@functools.lru_cache(maxsize=16)
def _seed_words(seed: int) -> tuple[int, ...]:
    """The first words of MT19937 for a seed of 32 bits (`init_genrand` of Matsumoto and Nishimura)."""
    words = [seed]
    for i in range(1, _STATE_WORDS):
        seed = (1812433253 * (seed ^ (seed >> 30)) + i) & 0xFFFFFFFF
        words.append(seed)
    return tuple(words)


#: The generator of `torch.randn` and its kin: a fresh process draws differently every time, like PyTorch's.
default = Generator(int.from_bytes(os.urandom(8), "little"))
