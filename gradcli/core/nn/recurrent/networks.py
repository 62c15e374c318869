"""Recurrent networks: RNN, LSTM, GRU; weights and biases begin uniform within 1 / sqrt(hidden_size)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.kernels import blocks
from gradcli.core.nn.module import Module
from gradcli.core.nn.parameter import floating, refill, uniform_parameter
from gradcli.core.nn.recurrent.packing import PackedSequence
from gradcli.core.ops.layers import recurrent
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, shape_error

#: the number of layers whose parameters scripts can read by name
_NAMED_LAYERS = 8
_MODES = {"RNN_TANH": ("rnn_tanh", 1), "RNN_RELU": ("rnn_relu", 1), "LSTM": ("lstm", 4), "GRU": ("gru", 3)}


def _parameter(name: str) -> Callable[[Any], Any]:
    def read(module: Any) -> Any:
        if name not in module.own_parameters:
            raise ProgramError("AttributeError", f"'{module.SCRIPT_NAME}' object has no attribute '{name}'")
        return module.own_parameters[name]

    return read


_NAMES = [
    f"{kind}_l{layer}{suffix}"
    for layer in range(_NAMED_LAYERS)
    for suffix in ("", "_reverse")
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
]


class RNNBase(Module, place="rnn"):
    """A recurrent network; `mode` says of which kind."""

    INIT_NAME = "RNNBase"
    METHODS = "flatten_parameters reset_parameters"
    SETTINGS = "mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size"
    SCRIPT_ATTRIBUTES = (
        Module.SCRIPT_ATTRIBUTES
        | {name: _parameter(name) for name in _NAMES}
        | {
            "all_weights": lambda m: [[m.own_parameters[name] for name in names] for names in m.weight_names()],
            "_all_weights": lambda m: m.weight_names(),
            "_flat_weights_names": lambda m: [name for name, _ in m._shapes()],
            "_flat_weights": lambda m: [m.own_parameters[name] for name, _ in m._shapes()],
        }
    )

    def __init__(
        self,
        mode: Any,
        input_size: Any,
        hidden_size: Any,
        num_layers: Any = 1,
        bias: Any = True,
        batch_first: Any = False,
        dropout: Any = 0.0,
        bidirectional: Any = False,
        proj_size: Any = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if device is not None:
            check_device(device)
        wanted = floating(dtype)
        _check_settings(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if not isinstance(mode, str) or mode not in _MODES:
            raise ProgramError("ValueError", f"Unrecognized RNN mode: {formatted(mode)}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        limits.check_work(num_layers * 1_000_000)  # drawing the parameters of a layer takes about as long
        for name, shape in self._shapes():
            limits.check_elements(math.prod(shape), wanted.itemsize)
            self.own_parameters[name] = self._drawn(shape, wanted)

    def _drawn(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return uniform_parameter(shape, 1.0 / math.sqrt(self.hidden_size), dtype)

    def reset_parameters(self) -> None:
        """Write initial values into the parameters, drawn as `__init__` draws them."""
        for parameter in self.own_parameters.values():
            if parameter is not None:
                refill(parameter, self._drawn(parameter.array.shape, parameter.dtype))

    def weight_names(self) -> list[list[str]]:
        """The names of the parameters of each layer and direction."""
        ends = dict.fromkeys(name.partition("_l")[2] for name, _ in self._shapes())
        return [[name for name, _ in self._shapes() if name.partition("_l")[2] == end] for end in ends]

    def _shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the parameters, layer by layer, the forward direction first."""
        gates = _MODES[self.mode][1] * self.hidden_size
        seen = self.proj_size or self.hidden_size
        suffixes = ("", "_reverse") if self.bidirectional else ("",)
        found: list[tuple[str, tuple[int, ...]]] = []
        for layer in range(self.num_layers):
            given = seen * len(suffixes) if layer else self.input_size
            for suffix in suffixes:
                end = f"_l{layer}{suffix}"
                found += [(f"weight_ih{end}", (gates, given)), (f"weight_hh{end}", (gates, seen))]
                if self.bias:
                    found += [(f"bias_ih{end}", (gates,)), (f"bias_hh{end}", (gates,))]
                if self.proj_size:
                    found.append((f"weight_hr{end}", (self.proj_size, self.hidden_size)))
        return found

    @property
    def kind(self) -> str:
        """The name of the network in PyTorch's errors."""
        return str(self.mode).removesuffix("_TANH").removesuffix("_RELU")

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return ", ".join(shown + [f"{name}={vars(self)[name]}" for name, value in usual.items() if vars(self)[name] != value])

    # --- calls ---

    def _framed(self, input: Any, states: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...] | None, bool]:
        """Input and states with a batch dimension, and whether they had one. Errors as in PyTorch for other dimensions."""
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        rank = input.array.ndim
        if rank not in (2, 3):
            what = f"{rank}D tensor" if self.kind == "RNN" else f"{rank}D"
            raise shape_error(f"{self.kind}: Expected input to be 2D or 3D, got {what} instead", "ValueError")
        for one in states or ():
            if type(one) is not Tensor:
                raise no_attribute(one, "dim")
        if states is not None and any(s.array.ndim != rank for s in states):
            ranks = ", ".join(f"{s.array.ndim}-D" for s in states)
            found = f"hx and cx should also be {rank}-D but got ({ranks}) tensors"
            if len(states) == 1:
                found = f"hx should also be {rank}-D but got {ranks} tensor"
            raise shape_error(f"For {'batched' if rank == 3 else 'unbatched'} {rank}-D input, {found}")
        if rank == 3:
            return input, states, True
        framed = catalog.function("unsqueeze")(input, 0 if self.batch_first else 1)
        return framed, None if states is None else tuple(catalog.function("unsqueeze")(s, 1) for s in states), False

    def _check(self, input: Tensor, states: tuple[Any, ...], sizes: list[int], batch: int) -> None:
        weight = self.own_parameters["weight_ih_l0"]
        assert weight is not None
        if input.dtype is not weight.dtype:
            raise ProgramError(
                "ValueError",
                f"RNN input dtype ({input.dtype!r}) does not match weight dtype ({weight.dtype!r}). Convert input: input.to("
                f"{weight.dtype!r}), or convert model: model.to({input.dtype!r})",
            )
        if input.array.shape[-1] != self.input_size:
            found = input.array.shape[-1]
            raise shape_error(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {found}")
        directions = 2 if self.bidirectional else 1
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        for state, size, name in zip(states, sizes, names, strict=True):
            wanted = (self.num_layers * directions, batch, size)
            if state.array.shape != wanted:
                raise shape_error(f"Expected {name} size {wanted}, got {list(state.array.shape)}")

    def _with_states(self, x: Tensor, states: tuple[Any, ...] | None, sizes: list[int], batch: int) -> tuple[Any, ...]:
        """The states; zeros where none are given."""
        if states is not None:
            return states
        rows = self.num_layers * (2 if self.bidirectional else 1)
        limits.check_elements(rows * batch * self.hidden_size, x.dtype.itemsize)
        return tuple(Tensor(np.zeros((rows, batch, size), x.dtype.np), x.dtype) for size in sizes)

    def run(self, input: Any, states: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        """The outputs of the last layer and the last states of all layers."""
        if type(input) is PackedSequence:
            return self._run_packed(input, states)
        x, given, batched = self._framed(input, states)
        sizes = self._state_sizes()
        batch = x.array.shape[0 if self.batch_first else 1]
        given = self._with_states(x, given, sizes, batch)
        self._check(x, given, sizes, batch)
        if self.proj_size:
            warnings.emit(
                "LSTM with projections is not supported with oneDNN. Using default implementation. "
                "(Triggered internally at /__w/pytorch/pytorch/aten/src/ATen/native/RNN.cpp:1512.)",
                once="LSTM projections",
            )
        out, final = self._layers(x, given, bool(self.batch_first))
        if not batched:
            squeeze = catalog.function("squeeze")
            out, final = squeeze(out, 0 if self.batch_first else 1), tuple(squeeze(s, 1) for s in final)
        return out, final

    def _state_sizes(self) -> list[int]:
        """How many features each state has."""
        return [self.proj_size or self.hidden_size, self.hidden_size][: 2 if self.mode == "LSTM" else 1]

    def _layers(self, x: Tensor, states: tuple[Any, ...], batch_first: bool, batch_sizes: Any = None) -> tuple[Any, tuple[Any, ...]]:
        parameters: Any = [self.own_parameters[name] for name, _ in self._shapes()]
        settings = recurrent.Settings(bool(self.bias), self.num_layers, self.dropout, self.training, bool(self.bidirectional), batch_first)
        return recurrent.layers(_MODES[self.mode][0], x, states, parameters, settings, batch_sizes)

    def _run_packed(self, packed: Any, states: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        """The same for packed sequences; the outputs are packed, too."""
        data, batch_sizes, order, back = packed
        permuted = catalog.function("index_select")
        if states is not None and order is not None:
            states = tuple(permuted(state, 1, order) for state in states)
        steps, sizes = batch_sizes.tolist(), self._state_sizes()
        states = self._with_states(data, states, sizes, steps[0])
        if self.mode != "LSTM":  # PyTorch leaves it to the operator there
            if data.array.ndim != 2:
                raise shape_error(f"input must have 2 dimensions, got {data.array.ndim}")
            self._check(data, states, sizes, steps[0])
        out, final = self._layers(data, states, False, batch_sizes)
        if back is not None:
            final = tuple(permuted(state, 1, back) for state in final)
        return PackedSequence((out, batch_sizes, order, back)), final

    def forward(self, input: Any, hx: Any = None) -> Any:
        out, final = self.run(input, None if hx is None else (hx,))
        return out, final[0]

    def flatten_parameters(self) -> None:
        """Has no effect: PyTorch moves the parameters into one piece of memory for CUDA."""
        blocks.settle()


def _check_settings(input_size: Any, hidden_size: Any, num_layers: Any, bias: Any, batch_first: Any, dropout: Any, proj_size: Any) -> None:
    if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ProgramError(
            "ValueError", "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.emit(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
            f"got dropout={formatted(dropout)} and num_layers={formatted(num_layers)}",
            inside="RNNBase",
        )
    kinds = (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int), ("hidden_size", hidden_size, int))
    for name, value, kind in kinds:
        if not isinstance(value, kind):
            raise ProgramError("TypeError", f"{name} should be of type {kind.__name__}, got: {language.type_name(value)}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ProgramError("ValueError", f"{name} must be greater than zero")
    if proj_size < 0:
        raise shape_error("proj_size should be a positive integer or zero to disable projections", "ValueError")
    if proj_size >= hidden_size:
        raise shape_error("proj_size has to be smaller than hidden_size", "ValueError")


class RNN(RNNBase, place="rnn"):
    """`tanh` or `relu` of linear maps of input and state."""

    SETTINGS = "nonlinearity"

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise shape_error("proj_size argument is only supported for LSTM, not RNN or GRU", "ValueError")
        self.nonlinearity = args[3] if len(args) > 3 else kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ProgramError("ValueError", f"Unknown nonlinearity '{formatted(self.nonlinearity)}'. Select from 'tanh' or 'relu'.")
        _base(self, f"RNN_{self.nonlinearity.upper()}", *args[:3], *args[4:], **kwargs)


class LSTM(RNNBase, place="rnn"):
    """Long short-term memory (Hochreiter and Schmidhuber 1997); the state is a pair."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        _base(self, "LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> Any:
        if hx is not None and type(hx) is Tensor:
            if len(hx.array) < 2:  # the hidden state alone, where two states are needed
                size = len(hx.array)
                raise shape_error(f"index {min(size, 1)} is out of bounds for dimension 0 with size {size}", "IndexError")
            hx = catalog.function("unbind")(hx)[:2]
        return self.run(input, None if hx is None else tuple(hx))


class GRU(RNNBase, place="rnn"):
    """Gated recurrent units (Cho et al. 2014)."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise shape_error("proj_size argument is only supported for LSTM, not RNN or GRU", "ValueError")
        _base(self, "GRU", *args, **kwargs)


_INIT = Routine(RNNBase.__init__, "RNNBase.__init__")


def _base(module: RNNBase, /, *args: Any, **kwargs: Any) -> None:
    """Call `RNNBase.__init__`, with Python's errors for a wrong call of it."""
    _INIT.check((module, *args), kwargs)
    RNNBase.__init__(module, *args, **kwargs)
