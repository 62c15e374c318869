"""A whole LSTM layer as one operation, which is how oneDNN computes it.

`weight0` and `weight1` are the weights of the input and of the state, `weight2` and `weight3` their biases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.namespaces import numeric, traced
from gradcli.core.graph.record import Op, Rule, without_jvp
from gradcli.core.kernels import Array, elementary, half_to_single, products
from gradcli.core.ops.elementwise import add_multiply
from gradcli.core.ops.elementwise.exponential import SIGMOID, logistic
from gradcli.core.ops.shape.joining import CAT, STACK
from gradcli.core.ops.shape.slicing import SELECT
from gradcli.core.ops.shape.view_copies import UNSAFE_SPLIT
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

Rounding = Callable[[Array], Array]


def check_steps(steps: int, batch: int, width: int, inner: int) -> None:
    """Raise LimitError for a sequence that takes too long; a step of small matrices counts as a million multiplications."""
    limits.check_work(steps * max(batch * width * inner, 1_000_000))


def _lstm(
    x: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    h: Array,
    c: Array,
    reverse: bool,
    *settings: Any,
    rounded: Rounding = np.asarray,
) -> tuple[Array, Array, Array]:
    """The outputs of all steps in one direction, and the last hidden state and cell; `rounded` rounds the bias and what a step hands on."""
    steps, batch, inner = x.shape
    hidden = h.shape[1]
    check_steps(steps, batch, weight0.shape[0], inner + hidden)
    limits.check_elements(steps * batch * weight0.shape[0], x.itemsize)
    given = products.matmul(x.reshape(steps * batch, inner), weight0.T).reshape(steps, batch, -1) + rounded(weight2 + weight3)
    out = np.empty((steps, batch, hidden), x.dtype)
    for t in reversed(range(steps)) if reverse else range(steps):
        gates = given[t] + products.matmul(h, weight1.T)
        i, f, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
        c = logistic(f) * c + logistic(i) * elementary.tanh(g)
        out[t] = h = rounded(logistic(o) * elementary.tanh(c))
        c = rounded(c)
    return out, np.array(h), np.array(c)


def _states(xp: Any, given: Any, weight1: Any, h: Any, c: Any, order: list[int], rounded: Rounding | None) -> list[tuple[Any, ...]]:
    """For each step, in the order of computation: the gates, the state and cell before it, and tanh of the cell after it."""
    found = []
    turned = xp.mT(weight1)
    for t in order:
        gates = xp.call(SELECT, given, 0, t) + xp.matmul(h, turned)
        i, f, g, o = xp.call(UNSAFE_SPLIT, gates, h.shape[1], 1)
        i, f, g, o = xp.call(SIGMOID, i), xp.call(SIGMOID, f), xp.tanh(g), xp.call(SIGMOID, o)
        after = f * c + i * g
        bent = xp.tanh(after)
        made = o * bent
        if rounded is not None:
            made, after = rounded(made), rounded(after)
            i, f, g, o, bent = rounded(i), rounded(f), rounded(g), rounded(o), xp.tanh(after)
        found.append((i, f, g, o, h, c, bent))
        h, c = made, after
    return found


def _back(xp: Any, grads: list[Any], values: tuple[Any, ...], reverse: bool, rounded: Rounding | None = None) -> list[Any]:
    """The gradients of the seven tensors `values`, by backpropagation through time; `rounded` is that of arrays in half precision."""
    x, weight0, weight1, weight2, weight3, h, c = values
    steps, batch, inner = x.shape
    rows = xp.reshape(x, (steps * batch, inner))
    shift = weight2 + weight3 if rounded is None else rounded(weight2 + weight3)
    given = xp.reshape(xp.matmul(rows, xp.mT(weight0)), (steps, batch, weight0.shape[0])) + shift
    order = list(range(steps))[::-1] if reverse else list(range(steps))
    states = _states(xp, given, weight1, h, c, order, rounded)
    dh, dc = (0.0 if g is None else g for g in grads[1:])
    made: list[Any] = [None] * steps
    to_weight1: Any = 0.0
    for t, (i, f, g, o, before, cell, bent) in zip(reversed(order), reversed(states), strict=True):
        if grads[0] is not None:
            dh = xp.call(SELECT, grads[0], 0, t) + dh
        # the order of operations is PyTorch's, since they may overflow
        dc = dc + dh * o * (1 - bent * bent)
        parts = [dc * g * i * (1 - i), dc * cell * f * (1 - f), dc * i * (1 - g * g), dh * bent * o * (1 - o)]
        joined = xp.call(CAT, parts, 1, (h.shape[1],) * 4)
        made[t] = joined if rounded is None else rounded(joined)
        to_weight1 = xp.matmul(xp.mT(made[t]), before) + to_weight1
        dh, dc = xp.matmul(made[t], weight1), dc * f
    flat = xp.reshape(xp.call(STACK, made, 0), (steps * batch, weight0.shape[0]))
    bias = xp.sum(flat, (0,))
    return [xp.reshape(xp.matmul(flat, weight0), x.shape), xp.matmul(xp.mT(flat), rows), to_weight1, bias, bias, dh, dc]


def _back_in_half(grads: list[Any], values: tuple[Tensor, ...], reverse: bool) -> list[Tensor]:
    """The gradients as oneDNN computes them: in single precision, of what the forward pass has kept in half."""
    dtype = values[0].dtype
    arrays = tuple(half_to_single(value.array) for value in values)
    given = [None if grad is None else half_to_single(grad.array) for grad in grads]
    found = _back(numeric, given, arrays, reverse, partial(dtypes.stored, dtype=dtype))
    return [Tensor(dtypes.cast(np.asarray(made), dtype), dtype) for made in found]


class Memory:
    """The gradients of all tensors, which one backpropagation gives, kept for the rules, of which each asks for one."""

    __slots__ = ("found", "grads")

    def __init__(self) -> None:
        self.grads: Any = None
        self.found: list[Any] = []

    def gradients(self, xp: Any, grads: list[Any], values: tuple[Any, ...], reverse: bool) -> list[Any]:
        """The gradients, computed when the first rule asks for one of them."""
        if self.grads is not grads:
            in_half = xp is traced and values[0].dtype.itemsize == 2 and not state.enabled
            self.found = _back_in_half(grads, values, reverse) if in_half else _back(xp, grads, values, reverse)
            self.grads = grads
        return self.found


#: the formula of the layer
_LAYER = (
    "torch.lstm(input.flip(0) if reverse else input, (hx_.unsqueeze(0), cx_.unsqueeze(0)), [weight0, weight1, weight2, weight3], "
    "True, 1, 0.0, False, False, False)"
)


def _rule(position: int, name: str) -> Rule:
    """The rule of the tensor `name`, the one at `position`."""

    def run(
        xp: Any,
        grads: list[Any],
        input: Any,
        weight0: Any,
        weight1: Any,
        weight2: Any,
        weight3: Any,
        hx_: Any,
        cx_: Any,
        reverse: bool,
        memory: Memory,
    ) -> Any:
        return memory.gradients(xp, grads, (input, weight0, weight1, weight2, weight3, hx_, cx_), reverse)[position]

    layer = re.sub(rf"{name}(?![a-z])", "z", _LAYER)
    return Rule(
        run, f"torch.func.vjp(lambda z: {layer}, {name})[1]((grads[0].flip(0) if reverse else grads[0], grads[1][None], grads[2][None]))[0]"
    )


#: the number of an LSTM among the networks of PyTorch
_LSTM_MODE = 2

LSTM_LAYER = Op(
    "MkldnnRnnLayerBackward0",
    _lstm,
    "input weight0 weight1 weight2 weight3 hx_ cx_",
    "reverse batch_sizes mode hidden_size num_layers has_biases bidirectional batch_first train memory",
    saved="cx_ hx_ input result0 result1 result2 result3=? weight0 weight1 weight2 weight3 "
    "batch_first batch_sizes bidirectional has_biases hidden_size mode num_layers reverse train",
    outputs="result0 result1 result2",
    in_half=lambda dtype, *args: _lstm(*args, rounded=partial(dtypes.stored, dtype=dtype)),
    jvp=without_jvp("mkldnn_rnn_layer"),
    differentiable=3,
    input=_rule(0, "input"),
    weight0=_rule(1, "weight0"),
    weight1=_rule(2, "weight1"),
    weight2=_rule(3, "weight2"),
    weight3=_rule(4, "weight3"),
    hx_=_rule(5, "hx_"),
    cx_=_rule(6, "cx_"),
)


#: dtypes that oneDNN knows
_KNOWN = (dtypes.float32, dtypes.bfloat16, dtypes.float16, dtypes.int32, dtypes.int8, dtypes.uint8)


def _check_layer(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], state: Sequence[Tensor]) -> None:
    """Raise RuntimeError for dtypes that oneDNN does not know or compute with, and for sizes by which it would read beyond a weight."""
    with recording(False):
        bias = add_multiply.add(biases[0], biases[1])
    tensors = (x, *state, *weights, bias)
    double = all(t.dtype is dtypes.float64 for t in tensors)  # gradcheck uses double precision
    if not double and any(t.dtype not in _KNOWN for t in tensors):
        raise runtime_error("get_mkldnn_dtype: unsupported data type")
    wide = (x.dtype, dtypes.float32)  # a cell and biases of single precision go with bfloat16
    if any(t.dtype is not x.dtype for t in (state[0], *weights)) or state[1].dtype not in wide or bias.dtype not in wide:
        text = "could not create a primitive descriptor for the LSTM forward propagation primitive. Run workload with environment variable "
        raise runtime_error(text + "ONEDNN_VERBOSE=all to get additional diagnostic information.")
    if state[1].dtype is not x.dtype:
        raise runtime_error("an LSTM in bfloat16 with a cell of single precision is not part of gradcli")
    hidden = state[0].array.shape[-1]
    sizes = [t.array.shape for t in (*weights, bias, state[1])]
    if sizes != [(4 * hidden, x.array.shape[-1]), (4 * hidden, hidden), (4 * hidden,), state[0].array.shape]:
        raise shape_error("an LSTM with weights of other sizes than its input and state is not part of gradcli")


def in_one_piece(x: Any, state: Sequence[Any], weights: Sequence[Any], reverse: bool, how: Any) -> tuple[Any, tuple[Any, ...]]:
    """The outputs and the last state of a layer in one direction, with the settings `how` of the network; biases may be None."""
    biases = weights[2:4]
    if biases[0] is None:
        zeros = Tensor(np.zeros(weights[0].array.shape[0], weights[0].dtype.np), weights[0].dtype)
        biases = (zeros, zeros)
    _check_layer(x, weights[:2], biases, state)
    settings = (state[0].array.shape[-1], how.num_layers, how.has_biases, how.bidirectional, how.batch_first, how.train)
    out, *last = LSTM_LAYER(x, weights[0], weights[1], *biases, *state, reverse, (), _LSTM_MODE, *settings, Memory())
    return out, tuple(last)


def mkldnn_rnn_layer(
    input: Tensor,
    weight0: Tensor,
    weight1: Tensor,
    weight2: Tensor,
    weight3: Tensor,
    hx_: Tensor,
    cx_: Tensor,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    *settings: Any,
) -> Any:
    """One LSTM layer in one direction; `reverse` begins at the end. Raises NotImplementedError for other networks."""
    if mode != _LSTM_MODE:
        raise ProgramError("NotImplementedError", "mkldnn_rnn_layer is part of gradcli for mode=2, which is an LSTM")
    if input.array.ndim != 3 or {t.array.ndim for t in (weight0, weight1, hx_, cx_)} != {2} or not input.dtype.is_floating_point:
        raise ProgramError("NotImplementedError", "mkldnn_rnn_layer of other shapes and dtypes than an LSTM's is not part of gradcli")
    _check_layer(input, (weight0, weight1), (weight2, weight3), (hx_, cx_))
    return LSTM_LAYER(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, (), _LSTM_MODE, *settings, Memory())


#: inputs of the samples
SEQUENCE, STATE = [[[0.5, -1.0]], [[2.0, 0.3]]], [[0.2, -0.3]]
WEIGHTS = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6], [0.7, -0.8], [0.2, 0.1], [-0.3, 0.5], [0.6, 0.4], [-0.1, 0.9]]


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "mkldnn_rnn_layer",
        (
            "Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, "
            "ints batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, "
            "bool train",
            mkldnn_rnn_layer,
        ),
        doc="One LSTM layer in one direction.",
        ops=(LSTM_LAYER,),
        samples=tuple(
            Sample(
                f"torch.mkldnn_rnn_layer(x, w, v, b, b, h, h, {reverse}, [], 2, 2, 1, True, False, False, True)[{part}]",
                None,
                x=SEQUENCE,
                w=WEIGHTS,
                v=WEIGHTS[::-1],
                b=[0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8],
                h=STATE,
            )
            for reverse, part in ((False, 0), (True, 0), (False, 2))
        ),
        method=False,
    ),
)
