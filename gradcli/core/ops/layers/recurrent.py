"""Recurrent layers as functions: plain, LSTM and GRU cells, and layers of them over sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.ops.layers import normalization, recurrent_records
from gradcli.core.ops.layers.recurrent_records import LSTM_LAYER
from gradcli.core.ops.shape.view_copies import UNSAFE_SPLIT
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error

#: what a cell does: (input part, state, weights) to the new state; the state is a tuple
Step = Callable[[Any, tuple[Any, ...], Sequence[Any]], tuple[Any, ...]]


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return normalization.linear(x, weight, bias)


# --- cells; `given` is what the input contributes, worked out already ---


def _plain_step(activation: str) -> Step:
    def step(given: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
        return (_call(activation, _linear(state[0], weights[1], weights[3]) + given),)

    return step


def _lstm_step(given: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
    gates = _linear(state[0], weights[1], weights[3]) + given
    i, f, g, o = UNSAFE_SPLIT(gates, gates.array.shape[1] // 4, 1)
    i, f, g, o = _call("sigmoid", i), _call("sigmoid", f), _call("tanh", g), _call("sigmoid", o)
    cell = f * state[1] + i * g
    hidden = o * _call("tanh", cell)
    if len(weights) > 4:
        hidden = _call("matmul", hidden, _call("t", weights[4]))
    return hidden, cell


def _gru_step(given: Any, state: tuple[Any, ...], weights: Sequence[Any]) -> tuple[Any, ...]:
    hidden = state[0]
    width = given.array.shape[1] // 3
    from_input = UNSAFE_SPLIT(given, width, 1)
    from_state = UNSAFE_SPLIT(_linear(hidden, weights[1], weights[3]), width, 1)
    reset = _call("sigmoid", from_state[0] + from_input[0])
    update = _call("sigmoid", from_state[1] + from_input[1])
    new = _call("tanh", from_input[2] + from_state[2] * reset)
    return ((hidden - new) * update + new,)


STEPS: dict[str, Step] = {
    "rnn_tanh": _plain_step("tanh"),
    "rnn_relu": _plain_step("relu"),
    "lstm": _lstm_step,
    "gru": _gru_step,
}


def _check_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor) -> None:
    x, h = input.array.shape, hidden.array.shape
    if x[1] != w_ih.array.shape[1]:
        raise runtime_error(f"input has inconsistent input_size: got {x[1]} expected {w_ih.array.shape[1]}")
    if x[0] != h[0]:
        raise runtime_error(f"Input batch size {x[0]} doesn't match hidden0 batch size {h[0]}")
    if h[1] != w_hh.array.shape[1]:
        raise runtime_error(f"hidden0 has inconsistent hidden_size: got {h[1]}, expected {w_hh.array.shape[1]}")


def cell(name: str) -> Callable[..., Any]:
    """`torch.NAME_cell`; the state of an LSTM is a pair."""

    def run(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Any:
        state = tuple(hx) if name == "lstm" else (hx,)
        if name == "lstm" and len(state) != 2:
            raise runtime_error("lstm_cell expects two hidden states")
        for one in state:
            _check_cell(input, one, w_ih, w_hh)
        made = STEPS[name](_linear(input, w_ih, b_ih), state, (w_ih, w_hh, b_ih, b_hh))
        return made if name == "lstm" else made[0]

    return run


# --- layers ---


def _one_direction(name: str, x: Any, state: tuple[Any, ...], weights: Sequence[Any], reverse: bool) -> tuple[Any, tuple[Any, ...]]:
    """The outputs of a layer, in the order of the input, and its last state."""
    steps, batch, inner = x.array.shape
    recurrent_records.check_steps(steps, batch, weights[0].array.shape[0], inner + weights[1].array.shape[1])
    limits.check_elements(steps * batch * weights[0].array.shape[0], x.dtype.itemsize)
    given = _call("unbind", _linear(x, weights[0], weights[2]), 0)
    outs = []
    for part in reversed(given) if reverse else given:
        state = STEPS[name](part, state, weights)
        outs.append(state[0])
    return _call("stack", outs[::-1] if reverse else outs, 0), state


def _in_one_piece(
    x: Any, state: tuple[Any, ...], weights: Sequence[Any], reverse: bool, settings: tuple[Any, ...]
) -> tuple[Any, tuple[Any, ...]]:
    """The same of an LSTM layer as PyTorch's library computes it."""
    zeros = None
    if weights[2] is None:
        zeros = _call("zeros", weights[0].array.shape[0])
        zeros = catalog.method("to").method(zeros, (weights[0].dtype,), {})
    biases = (zeros, zeros) if zeros is not None else weights[2:4]
    memory = recurrent_records.Memory()
    out, hidden, cell_state = LSTM_LAYER(x, weights[0], weights[1], *biases, *state, reverse, (), 2, *settings, memory)
    return out, (hidden, cell_state)


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
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> Any:
    """One LSTM layer in one direction; with `reverse` from the end."""
    if mode != 2:
        raise ProgramError("NotImplementedError", "mkldnn_rnn_layer is part of gradcli for mode=2, which is an LSTM")
    settings = (hidden_size, num_layers, has_biases, bidirectional, batch_first, train)
    weights = (weight0, weight1, weight2, weight3)
    out, state = _in_one_piece(input, (hx_, cx_), weights, reverse, settings)
    return (out, *state)


def layers(
    name: str,
    input: Tensor,
    states: tuple[Any, ...],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, tuple[Any, ...]]:
    """All layers of a recurrent network: outputs, and the last states of every layer and direction."""
    if not input.array.shape[1 if batch_first else 0]:
        raise runtime_error("Expected sequence length to be larger than 0 in RNN")
    each = 4 if has_biases else 2
    projected = name == "lstm" and states[0].array.shape[2] != states[1].array.shape[2]
    each += projected
    directions = 2 if bidirectional else 1
    x: Any = _call("transpose", input, 0, 1) if batch_first else input
    whole = name == "lstm" and not projected and input.dtype is not dtypes.float64
    kept = [_call("unbind", s, 0) for s in states] if not whole else []
    last: list[tuple[Any, ...]] = []
    for layer in range(num_layers):
        outs = []
        if whole:
            x = catalog.method("contiguous").method(x, (), {})
        for direction in range(directions):
            at = layer * directions + direction
            own: list[Any] = list(params[at * each : (at + 1) * each])
            if not has_biases:
                own[2:2] = [None, None]
            if whole:
                state = tuple(_call("select", s, 0, at) for s in states)
                settings = (states[0].array.shape[2], num_layers, has_biases, bidirectional, batch_first, train)
                out, state = _in_one_piece(x, state, own, direction == 1, settings)
            else:
                out, state = _one_direction(name, x, tuple(s[at] for s in kept), own, direction == 1)
            outs.append(out)
            last.append(state)
        x = outs[0] if directions == 1 else _call("cat", outs, x.array.ndim - 1)
        if dropout and train and layer < num_layers - 1:
            x = normalization.drop(x, dropout, True)
    final = tuple(_call("stack", list(parts), 0) for parts in zip(*last, strict=True))
    if batch_first:
        x = _call("transpose", x, 0, 1) if whole else catalog.method("transpose_").method(x, (0, 1), {})
    return x, final


def _network(name: str) -> Callable[..., Any]:
    def run(
        input: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        states = tuple(hx) if name == "lstm" else (hx,)
        out, final = layers(name, input, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
        return (out, *final)

    return run


_X, _H = [[[0.5, -1.0]], [[2.0, 0.3]]], [[0.2, -0.3]]
_SQUARE, _WIDE = (
    [[0.1, -0.2], [0.3, 0.4]],
    [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6], [0.7, -0.8], [0.2, 0.1], [-0.3, 0.5], [0.6, 0.4], [-0.1, 0.9]],
)
_DOC = "A recurrent network over a sequence."
_PARAMS = "Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"


def _declared(name: str, gates: int) -> tuple[Function, Function]:
    states = "Tensors" if name == "lstm" else "Tensor"
    many = "(h, h)" if name == "lstm" else "h"
    all_of = "(h.unsqueeze(0), h.unsqueeze(0))" if name == "lstm" else "h.unsqueeze(0)"
    first = "[0]" if name == "lstm" else ""
    weights = {"w": _WIDE[: 2 * gates], "v": _WIDE[::-1][: 2 * gates]}
    return (
        Function(
            f"{name}_cell",
            (f"Tensor input, {states} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None", cell(name)),
            doc="One step of a recurrent network.",
            ops=(UNSAFE_SPLIT,) if gates > 1 else (),
            samples=(Sample(f"torch.{name}_cell(x[0], {many}, w, v){first}", None, x=_X, h=_H, **weights),),
            method=False,
        ),
        Function(
            name,
            (f"Tensor input, {states} hx, {_PARAMS}", _network(name)),
            doc=_DOC,
            ops=(UNSAFE_SPLIT,) if gates > 1 else (),
            samples=(Sample(f"torch.{name}(x, {all_of}, [w, v], False, 1, 0.0, False, False, False)[0]", None, x=_X, h=_H, **weights),),
            method=False,
        ),
    )


FUNCTIONS: tuple[Function, ...] = (
    *_declared("rnn_tanh", 1),
    *_declared("rnn_relu", 1),
    *_declared("lstm", 4),
    *_declared("gru", 3),
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
                x=_X,
                w=_WIDE,
                v=_WIDE[::-1],
                b=[0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8],
                h=_H,
            )
            for reverse, part in ((False, 0), (True, 0), (False, 2))
        ),
        method=False,
    ),
)
