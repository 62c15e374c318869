"""Recurrent networks: tanh, relu, LSTM and GRU cells, and layers of them over sequences.

Sequences are (steps, batch, features). The weights of a layer are those of the input and of the state, then their biases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gradcli import limits
from gradcli.core.functions import catalog
from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph.inplace_forms import apply
from gradcli.core.graph.write_checks import result_dtype_error
from gradcli.core.ops.checks import size
from gradcli.core.ops.elementwise.add_multiply import ADD
from gradcli.core.ops.elementwise.exponential import SIGMOID
from gradcli.core.ops.elementwise.trigonometric import TANH
from gradcli.core.ops.layers.dropout import drop
from gradcli.core.ops.layers.linear import linear
from gradcli.core.ops.layers.lstm_layer import SEQUENCE, STATE, WEIGHTS, check_steps, in_one_piece
from gradcli.core.ops.layers.packed_sequences import State, over_packed
from gradcli.core.ops.linalg.products.matmul import matmul
from gradcli.core.ops.shape.casting import contiguous
from gradcli.core.ops.shape.joining import cat, stack
from gradcli.core.ops.shape.slicing import select
from gradcli.core.ops.shape.splitting import unbind
from gradcli.core.ops.shape.transpose import t, transpose
from gradcli.core.ops.shape.view_copies import UNSAFE_SPLIT, UNSAFE_SPLIT_SIZES
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error, shape_error

#: gets what the input contributes to the gates, the state and the weights, and gives the new state
Step = Callable[[Any, State, Sequence[Any]], State]


def _gates(given: Any, state: State, weights: Sequence[Any]) -> Any:
    """What state and input contribute; `given` may be a function, since a single cell computes the part of the state first."""
    from_state = linear(state[0], weights[1], weights[3])
    return _added(from_state, given() if callable(given) else given)


def _added(a: Any, b: Any) -> Any:
    """`a + b`, which PyTorch writes in place of `a`."""
    return a + b if a.dtype is b.dtype else apply(a, lambda x: ADD(x, b))


def _plain_step(activation: str) -> Step:
    def step(given: Any, state: State, weights: Sequence[Any]) -> State:
        return (catalog.function(activation)(_gates(given, state, weights)),)

    return step


def _gate(x: Any) -> Any:
    """The sigmoid, which PyTorch writes in place of `x`. Raises RuntimeError for whole numbers."""
    if not x.dtype.is_floating_point:
        raise result_dtype_error("Float", x.dtype)
    return SIGMOID(x)


def _parts(gates: Any, count: int) -> Any:
    """The gates apart; they may have no elements."""
    width = gates.array.shape[1] // count
    return UNSAFE_SPLIT(gates, width, 1) if width else UNSAFE_SPLIT_SIZES(gates, (0,) * count, 1)


def _lstm_step(given: Any, state: State, weights: Sequence[Any]) -> State:
    gates = _gates(given, state, weights)
    i, f, g, o = _parts(gates, 4)
    i, f, g, o = _gate(i), _gate(f), TANH(g), _gate(o)
    cell = _added(f * state[1], i * g)
    hidden = o * TANH(cell)
    if len(weights) > 4:  # a projection of the state
        hidden = matmul(hidden, t(weights[4]))
    return hidden, cell


def _gru_step(given: Any, state: State, weights: Sequence[Any]) -> State:
    hidden = state[0]
    from_input = _parts(given, 3)
    from_state = _parts(linear(hidden, weights[1], weights[3]), 3)
    reset = _gate(_added(from_state[0], from_input[0]))
    update = _gate(_added(from_state[1], from_input[1]))
    new = TANH(from_input[2] + from_state[2] * reset)
    return (_added((hidden - new) * update, new),)


_STEPS: dict[str, Step] = {"rnn_tanh": _plain_step("tanh"), "rnn_relu": _plain_step("relu"), "lstm": _lstm_step, "gru": _gru_step}
#: how many gates a cell has; others have the new state alone
_GATES = {"lstm": 4, "gru": 3}


def _check_weights(w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    """Raise RuntimeError for weights that do not have the rows of all gates."""
    width = size(w_hh, 1)
    for which, weight in (("ih", w_ih), ("hh", w_hh)):
        if size(weight, 0) != gates * width:
            raise shape_error(f"weight_{which} first dim must be {gates} * hidden_size = {gates * width}, but got {size(weight, 0)}")


def _check_cell(input: Tensor, state: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, gates: int) -> None:
    """Raise RuntimeError for sizes that do not fit."""
    if gates == 1:  # the other cells look at the input first
        _check_weights(w_ih, w_hh, gates)
    if gates == 4:
        size(w_hh, 1)  # LSTM cells ask for this size first
    if size(w_ih, 1) != size(input, 1):
        raise shape_error(f"input has inconsistent input_size: got {size(input, 1)} expected {size(w_ih, 1)}")
    width = size(w_hh, 1)
    if gates == 4:
        _check_weights(w_ih, w_hh, gates)
    for number, hidden in enumerate(state):
        if size(input, 0) != size(hidden, 0):
            raise shape_error(f"Input batch size {size(input, 0)} doesn't match hidden{number} batch size {size(hidden, 0)}")
        if size(hidden, 1) != width:
            raise shape_error(f"hidden{number} has inconsistent hidden_size: got {size(hidden, 1)}, expected {width}")
    _check_weights(w_ih, w_hh, gates)
    for tensor in (input, *state, w_ih, w_hh):
        if tensor.array.ndim != 2:
            raise shape_error(f"a recurrent cell with a tensor of {tensor.array.ndim} dimensions is not part of gradcli, which has 2")


def _cell(name: str) -> Callable[..., Any]:
    """`torch.NAME_cell`, which takes and gives a pair as the state of an LSTM."""

    def run(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None) -> Any:
        state = tuple(hx) if name == "lstm" else (hx,)
        if name == "lstm" and len(state) != 2:
            raise runtime_error("lstm_cell expects two hidden states")
        _check_cell(input, state, w_ih, w_hh, _GATES.get(name, 1))
        given = partial(linear, input, w_ih, b_ih)
        made = _STEPS[name](given() if name == "gru" else given, state, (w_ih, w_hh, b_ih, b_hh))
        return made if name == "lstm" else made[0]

    return run


# --- layers over sequences ---


class Settings(NamedTuple):
    """The plain arguments of a network, in PyTorch's order."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool

    @property
    def directions(self) -> int:
        """In how many directions each layer reads the sequence."""
        return 2 if self.bidirectional else 1


def _in_steps(name: str, x: Any, state: State, weights: Sequence[Any], reverse: bool) -> tuple[Any, State]:
    """One layer in one direction, step by step: the outputs in the order of the input, and the last state."""
    steps, batch, inner = x.array.shape
    check_steps(steps, batch, weights[0].array.shape[0], inner + weights[1].array.shape[1])
    limits.check_elements(steps * batch * weights[0].array.shape[0], x.dtype.itemsize)
    given = unbind(linear(x, weights[0], weights[2]), 0)
    outs = []
    for part in reversed(given) if reverse else given:
        state = _STEPS[name](part, state, weights)
        outs.append(state[0])
    return stack(outs[::-1] if reverse else outs, 0), state


def _check_batch(batch: int, state: Tensor, weight: Tensor, parts: int, whole: bool, multiplied: bool) -> None:
    """Raise RuntimeError for a state of another number of sequences than the input.

    The product with a weight, of which the state is a factor or not, is added in parts.
    """
    have = state.array.shape[1]
    if have == batch:
        return
    if whole or batch == 1:  # PyTorch reads beyond the state, or repeats the input
        raise shape_error("a recurrent network with a state for another number of sequences is not part of gradcli")
    if weight.array.ndim != 2:
        raise shape_error("a recurrent network with weights of other ranks than 2 is not part of gradcli")
    (rows, inner), width = weight.array.shape, state.array.shape[2]
    if multiplied and inner != width:
        raise shape_error(f"mat1 and mat2 shapes cannot be multiplied ({have}x{width} and {inner}x{rows})")
    if have == 1:
        gates = rows // parts
        raise shape_error(f"output with shape [1, {gates}] doesn't match the broadcast shape [{batch}, {gates}]")
    raise shape_error(f"The size of tensor a ({have}) must match the size of tensor b ({batch}) at non-singleton dimension 0")


def _projected(name: str, states: State) -> bool:
    """Whether the outputs of an LSTM, its first state, are projections."""
    return name == "lstm" and bool(states[0].array.shape[2] != states[1].array.shape[2])


def _weights_each(name: str, states: State, how: Settings) -> int:
    """How many weights a layer has in one direction."""
    return (4 if how.has_biases else 2) + _projected(name, states)


def _by_onednn(name: str, input: Tensor, states: State) -> bool:
    """Whether PyTorch computes a network by oneDNN: an LSTM without projections. Few processors have it compute in float16."""
    return name == "lstm" and not _projected(name, states) and input.array.size > 0 and input.dtype in (dtypes.float32, dtypes.bfloat16)


def _check_pieces(have: int, each: int, pieces: int) -> None:
    """Raise RuntimeError where there are not `each` of all weights for every piece that oneDNN computes, or no piece."""
    if have % each:
        raise runtime_error(f"MatrixRef: ArrayRef size {have} not divisible by stride {each}")
    if have < pieces * each:
        raise runtime_error(f"ArrayRef: invalid slice, N = {have}; M = {each}; size = {have}")
    if pieces <= 0:
        raise runtime_error("cannot create std::vector larger than max_size()" if pieces else "stack expects a non-empty TensorList")


def _check_ranks(input: Tensor, states: State, rank: int) -> None:
    """Raise RuntimeError for an input of another rank, and for states of another than 3."""
    for tensor, wanted in ((input, rank), *((state, 3) for state in states)):
        if tensor.array.ndim != wanted:
            have = tensor.array.ndim
            raise shape_error(f"a recurrent network with a tensor of {have} dimensions is not part of gradcli, which has {wanted}")


def _check_counts(name: str, states: State, params: Sequence[Tensor], how: Settings, whole: bool) -> None:
    """Raise RuntimeError for numbers of weights and states that do not fit."""
    each = _weights_each(name, states, how)
    pieces = how.num_layers * how.directions
    if whole:
        _check_pieces(len(params), each, pieces)
    else:
        if len(params) % each:
            raise runtime_error("got an incorrect number of RNN parameters")
        hiddens = size(states[0], 0)
        if how.bidirectional and (len(params) // each % 2 or hiddens % 2):
            raise runtime_error("Odd number of params or hiddens given to a bidirectional RNN")
        if pieces != hiddens:
            raise runtime_error("Expected more hidden states in stacked_rnn")
        if pieces != len(params) // each:
            raise runtime_error("Expected more weights in stacked_rnn")


def _check_sizes(name: str, input: Tensor, states: State, params: Sequence[Tensor], how: Settings, batch: int, whole: bool) -> None:
    """Raise RuntimeError for states of another number of sequences, and for weights that do not fit."""
    if not whole and any(state.array.shape[1] != batch for state in states):  # the errors of the first product come before
        linear(transpose(input, 0, 1) if how.batch_first else input, params[0], params[2] if how.has_biases else None)
    for state in states:
        _check_batch(batch, state, params[1], 3 if name == "gru" else 1, whole, state is states[0])
    gates = _GATES.get(name, 0)
    rows = gates * states[-1].array.shape[2]
    if any(weight.array.ndim != 2 or (gates and weight.array.shape[0] != rows) for weight in params[:2]):  # PyTorch reads beyond them
        raise shape_error("a recurrent network with weights of other sizes than its state is not part of gradcli")


def _steps_of(batch_sizes: Tensor) -> list[int]:
    """The numbers of sequences at each step. Raises RuntimeError for other tensors than vectors of int64."""
    if batch_sizes.dtype is not dtypes.int64:
        raise runtime_error(f"expected scalar type Long but found {batch_sizes.dtype.torch_name}")
    if batch_sizes.array.ndim != 1 or not batch_sizes.array.size:
        raise shape_error("a recurrent network over packed sequences without steps is not part of gradcli")
    return batch_sizes.array.tolist()  # type: ignore[no-any-return]


def layers(
    name: str, input: Tensor, states: State, params: Sequence[Tensor], how: Settings, batch_sizes: Tensor | None = None
) -> tuple[Any, State]:
    """All layers of a recurrent network: the outputs, and the last states of every layer and direction.

    `batch_sizes` are the numbers of sequences at each step of packed input, whose outputs are packed too.
    Raises RuntimeError for an empty sequence and tensors of other ranks.
    """
    sizes: Sequence[int] = ()
    if batch_sizes is None:
        _check_ranks(input, states, 3)
    elif name == "lstm":
        for state in states:
            size(state, 2)
    whole = batch_sizes is None and _by_onednn(name, input, states)
    _check_counts(name, states, params, how, whole)
    if batch_sizes is not None:
        sizes = _steps_of(batch_sizes)
        _check_ranks(input, states, 2)
    _check_sizes(name, input, states, params, how, sizes[0] if sizes else input.array.shape[0 if how.batch_first else 1], whole)
    if not input.array.shape[1 if how.batch_first and not sizes else 0]:
        raise runtime_error("Expected sequence length to be larger than 0 in RNN")
    each, directions = _weights_each(name, states, how), how.directions
    x: Any = transpose(input, 0, 1) if how.batch_first else input
    own_states = list(zip(*(unbind(s, 0) for s in states), strict=True)) if not whole else []
    last: list[State] = []
    for layer in range(how.num_layers):
        outs = []
        if whole:
            x = contiguous(x)
        for direction in range(directions):
            at, reverse = layer * directions + direction, direction == 1
            own: list[Any] = list(params[at * each : (at + 1) * each])
            if not how.has_biases:
                own[2:2] = [None, None]
            if whole:
                out, state = in_one_piece(x, tuple(select(s, 0, at) for s in states), own, reverse, how)
            elif sizes:
                out, state = over_packed(_STEPS[name], x, sizes, own_states[at], own, reverse)
            else:
                out, state = _in_steps(name, x, own_states[at], own, reverse)
            outs.append(out)
            last.append(state)
        x = outs[0] if directions == 1 else cat(outs, x.array.ndim - 1)
        if how.dropout and how.train and layer < how.num_layers - 1:
            x = drop(x, how.dropout, True)
    final = tuple(stack(parts, 0) for parts in zip(*last, strict=True))
    if how.batch_first:
        x = transpose(x, 0, 1) if name == "lstm" else catalog.method("transpose_").method(x, (0, 1), {})
    return x, final


def _network(name: str) -> Callable[..., Any]:
    def run(input: Tensor, hx: Any, params: Sequence[Tensor], *settings: Any, batch_sizes: Tensor | None = None) -> Any:
        if name == "lstm" and len(hx) != 2:
            raise runtime_error("lstm expects two hidden states")
        out, final = layers(name, input, tuple(hx) if name == "lstm" else (hx,), params, Settings(*settings), batch_sizes)
        return (out, *final)

    return run


def _packed_network(name: str) -> Callable[..., Any]:
    def run(data: Tensor, batch_sizes: Tensor, hx: Any, params: Sequence[Tensor], *settings: Any) -> Any:
        return _network(name)(data, hx, params, *settings, False, batch_sizes=batch_sizes)

    return run


_PARAMS = "Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"


def _declared(name: str, gates: int) -> tuple[Function, Function]:
    states = "Tensors" if name == "lstm" else "Tensor"
    of_cell, of_layers, first = "h", "h.unsqueeze(0)", ""
    if name == "lstm":
        of_cell, of_layers, first = "(h, h)", "(h.unsqueeze(0), h.unsqueeze(0))", "[0]"
    weights = {"w": WEIGHTS[: 2 * gates], "v": WEIGHTS[::-1][: 2 * gates]}
    return (
        Function(
            f"{name}_cell",
            (f"Tensor input, {states} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None", _cell(name)),
            doc="One step of a recurrent network.",
            ops=(UNSAFE_SPLIT,) if gates > 1 else (),
            samples=(Sample(f"torch.{name}_cell(x[0], {of_cell}, w, v){first}", None, x=SEQUENCE, h=STATE, **weights),),
            method=False,
        ),
        Function(
            name,
            (f"Tensor data, Tensor batch_sizes, {states} hx, {_PARAMS.rpartition(', ')[0]}", _packed_network(name)),
            (f"Tensor input, {states} hx, {_PARAMS}", _network(name)),
            doc="A recurrent network over a sequence.",
            ops=(UNSAFE_SPLIT,) if gates > 1 else (),
            samples=(
                Sample(
                    f"torch.{name}(x, {of_layers}, [w, v], False, 1, 0.0, False, False, False)[0]", None, x=SEQUENCE, h=STATE, **weights
                ),
            ),
            method=False,
        ),
    )


FUNCTIONS: tuple[Function, ...] = (*_declared("rnn_tanh", 1), *_declared("rnn_relu", 1), *_declared("lstm", 4), *_declared("gru", 3))
