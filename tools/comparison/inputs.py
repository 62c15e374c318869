"""Tensors for calls: values, shapes, dtypes and memory layouts, usual and odd, as text that makes them."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

#: dtypes of the inputs that the samples give as floats, and how often each mode takes them
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "complex64")
ODDS = {
    "gradient": (12, 4, 1, 1, 0, 0, 0, 0, 0.2),
    "forward": (8, 3, 0, 0, 0, 0, 0, 0, 0),
    "value": (8, 3, 2, 2, 3, 1, 1, 2, 0.3),
    "backward": (12, 4, 1, 1, 0, 0, 0, 0, 0),
}
DIFFERENTIABLE = ("float32", "float64", "float16", "bfloat16", "complex64")
_SHAPES = (
    (),
    (1,),
    (3,),
    (2,),
    (4,),
    (2, 3),
    (3, 2),
    (3, 3),
    (2, 1),
    (1, 3),
    (0,),
    (2, 0),
    (2, 3, 2),
    (2, 2, 2),
    (1, 2, 3, 3),
    (1, 1),
    (17,),
    (33,),
    (129,),
    (5, 33),
    (2, 1, 3, 1),
    (2, 3, 1, 2),
    (2, 3, 2, 2),
)
_ODD = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.5)


@dataclass(frozen=True)
class Input:
    """The values of a tensor and its dtype; "" is the dtype that the call chooses for its float inputs."""

    data: Array
    dtype: str = ""

    @staticmethod
    def of(value: object) -> Input:
        """The tensor that `torch.tensor(value)` makes; floats may be cast."""
        array = np.asarray(value)
        dtype = {"b": "bool", "i": "int64"}.get(array.dtype.kind, "")
        return Input(array.astype(np.float64), dtype)

    def cast(self, dtype: str) -> Input:
        """With the dtype of the call, if it has none of its own."""
        return self if self.dtype else replace(self, dtype=dtype)

    def filled(self, rng: random.Random) -> Input:
        """The same shape with other values."""
        return self if self.dtype else replace(self, data=_values(rng, self.data.shape))

    def text(self, rng: random.Random, expanded: bool = True) -> str:
        """An expression for the tensor, most often contiguous, else transposed, sliced or, if it may be, expanded."""
        data = self.data
        kinds = ("plain", "transposed", "sliced", "offset", "expanded", "permuted", "narrowed", "channels last")
        layout = rng.choices(kinds, (16, 2, 1, 1, expanded, 1, 1, 2 * (data.ndim == 4)))[0]
        if layout == "permuted" and data.ndim > 2:
            order = rng.sample(range(data.ndim), data.ndim)
            return f"{self._literal(data.transpose(np.argsort(order)))}.permute({', '.join(map(str, order))})"
        if layout == "narrowed" and data.ndim >= 1 and data.shape[-1]:
            return f"{self._literal(np.concatenate([data[..., :1], data, data[..., :1]], -1))}[..., 1:-1]"
        if layout == "channels last":
            return f"{self._literal(data)}.to(memory_format=torch.channels_last)"
        if layout == "transposed" and data.ndim >= 2:
            return f"{self._literal(np.swapaxes(data, 0, -1))}.transpose(0, -1)"
        if layout == "sliced" and data.ndim >= 1 and data.shape[-1]:
            return f"{self._literal(np.repeat(data, 2, -1))}[..., ::2]"
        if layout == "expanded" and data.ndim >= 1 and data.shape[0]:
            return f"{self._literal(data[:1])}.expand({', '.join(map(str, data.shape))})"
        if layout == "offset" and data.ndim >= 1 and data.shape[0]:
            return f"{self._literal(np.concatenate([data[:1], data]))}[1:]"
        return self._literal(data)

    def _literal(self, data: Array) -> str:
        if not data.size and data.ndim != 1:
            return f"torch.zeros({', '.join(map(str, data.shape))}, dtype=torch.{self.dtype})"
        kind = bool if self.dtype == "bool" else int if "int" in self.dtype else float
        text = re.sub(r"\b(inf|nan)\b", r"float('\1')", str(_nested(data, kind)))
        usual = {float: "float32", int: "int64", bool: "bool"}[kind] == self.dtype and (kind is float or data.size)
        return f"torch.tensor({text}{'' if usual else f', dtype=torch.{self.dtype}'})"


def _nested(data: Array, kind: type) -> object:
    if kind is int:
        data = np.nan_to_num(data, nan=0, posinf=7, neginf=-7).clip(-100, 100)
        return np.trunc(data).astype(np.int64).tolist()
    return data.astype(kind).tolist()


def _values(rng: random.Random, shape: tuple[int, ...]) -> Array:
    """Values of one class: usual, positive, with ties, odd, huge, tiny."""
    kind = rng.choices(("usual", "positive", "ties", "odd", "huge", "tiny", "wide"), (9, 3, 2, 2, 1, 1, 1))[0]
    draw: Callable[[], float] = {
        "usual": lambda: round(rng.uniform(-2.5, 2.5), 2),
        "positive": lambda: round(rng.uniform(0.05, 0.95), 2),
        "ties": lambda: float(rng.choice((0, 1, 1, 2, -1))),
        "odd": lambda: rng.choice((*_ODD, round(rng.uniform(-2, 2), 1))),
        "huge": lambda: rng.choice((1e30, -1e20, 1e4, -88.5, 100.0, 1e8)),
        "tiny": lambda: rng.choice((1e-30, -1e-20, 1e-8, 1e-4)),
        "wide": lambda: round(rng.uniform(-30, 30), 1),
    }[kind]
    return np.array([draw() for _ in range(math.prod(shape))], np.float64).reshape(shape)


def random_input(rng: random.Random, first: Input | None = None) -> Input:
    """A tensor; most often of a shape that goes together with the `first` one of the call."""
    shape = rng.choice(_SHAPES)
    if first is not None and rng.random() < 0.75:
        shape = first.data.shape
        if rng.random() < 0.2:
            shape = shape[rng.randrange(len(shape)) :] if shape else (2,)
        elif rng.random() < 0.1:  # broadcast along some of the dimensions
            shape = tuple(1 if rng.random() < 0.5 else n for n in shape)
    return Input(_values(rng, shape))


def random_index(rng: random.Random, first: Input | None) -> Input:
    """A tensor of whole numbers, most often in range."""
    shape: tuple[int, ...] = (
        first.data.shape if first is not None and rng.random() < 0.5 else rng.choice(((), (2,), (3,), (1,), (0,), (2, 2)))
    )
    most = 1 if first is None or not first.data.ndim else max(first.data.shape[-1] - 1, 0)
    values = [float(rng.randint(0, most) if rng.random() < 0.95 else rng.choice((-1, 7))) for _ in range(math.prod(shape))]
    return Input(np.array(values, np.float64).reshape(shape), "int64" if rng.random() < 0.9 else "int32")


def random_mask(rng: random.Random, first: Input | None) -> Input:
    """A tensor of truth values."""
    shape = first.data.shape if first is not None and rng.random() < 0.85 else rng.choice(_SHAPES)
    return Input(np.array([float(rng.random() < 0.5) for _ in range(math.prod(shape))], np.float64).reshape(shape), "bool")


def change_of_shape(rng: random.Random) -> Callable[[Input], Input]:
    """One change for all inputs of a call: a dimension more or less, of size 0 or 1, or all values twice."""
    kind = rng.choice(("batch", "one", "empty", "less", "long"))

    def change(value: Input) -> Input:
        data = value.data
        if kind == "batch":
            data = np.stack([data, data[::-1] if data.ndim else data])
        elif kind == "long" and data.ndim:
            data = np.concatenate([data] * 9, -1)
        elif data.ndim:
            data = {"one": data[:1], "empty": data[:0], "less": data[0], "long": data}[kind]
        return replace(value, data=np.array(data))

    return change
