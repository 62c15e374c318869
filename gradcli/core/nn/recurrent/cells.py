"""One step of a recurrent network: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.parameter import checked_size, floating, uniform_parameter
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.errors import ProgramError, runtime_error, shape_error


class Cell(FunctionModule):
    """A cell with GATES linear maps of the input and of the state."""

    ARGUMENTS = {"input_size": REQUIRED, "hidden_size": REQUIRED, "bias": True, "device": None, "dtype": None}
    PARAMETERS = "weight_ih weight_hh bias_ih bias_hh"
    METHODS = "reset_parameters"
    GATES = 1
    hidden_size: int

    def keep(self, given: dict[str, Any]) -> None:
        super().keep(given)
        dtype, hidden, seen = floating(given["dtype"]), given["hidden_size"], given["input_size"]
        bound = 1.0 / math.sqrt(hidden) if hidden > 0 else 0.0
        rows = self.GATES * hidden
        shapes = {"weight_ih": (rows, seen), "weight_hh": (rows, hidden), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            size = checked_size(shape, dtype)
            drawn = given["bias"] or name.startswith("weight")
            self.own_parameters[name] = uniform_parameter(size, bound, dtype) if drawn else None

    def step(self, function: str, input: Any, states: tuple[Any, ...] | None) -> Any:
        """One step of a batch, or of one row, which becomes a batch of one for the call."""
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        rank = input.array.ndim
        if rank not in (1, 2):
            raise shape_error(f"{self.SCRIPT_NAME}: Expected input to be 1D or 2D, got {rank}D instead", "ValueError")
        for at, state in enumerate(states or ()):
            if state.array.ndim not in (1, 2):
                where = f"hx[{at}]" if len(states or ()) == 2 else "hidden"
                raise shape_error(f"{self.SCRIPT_NAME}: Expected {where} to be 1D or 2D, got {state.array.ndim}D instead", "ValueError")
        unsqueeze = catalog.function("unsqueeze")
        x = input if rank == 2 else unsqueeze(input, 0)
        pair = function == "lstm_cell"
        if states is None:
            zeros = Tensor(np.zeros((x.array.shape[0], self.hidden_size), x.dtype.np), x.dtype)
            given: Any = (zeros, zeros) if pair else (zeros,)
        else:
            given = states if rank == 2 else tuple(unsqueeze(s, 0) for s in states)
        made = catalog.function(function)(x, tuple(given) if pair else given[0], *self.declared_parameters())
        if rank == 2:
            return made
        squeeze = catalog.function("squeeze")
        return tuple(squeeze(s, 0) for s in made) if pair else squeeze(made, 0)

    def extra_repr(self) -> str:
        settings = self.settings()
        shown = [str(settings["input_size"]), str(self.hidden_size)]
        return ", ".join(shown if settings["bias"] is True else [*shown, f"bias={settings['bias']}"])


class RNNCell(Cell, place="rnn"):
    """`tanh` or `relu` of linear maps of input and state."""

    SETTINGS = "input_size hidden_size bias nonlinearity"
    ARGUMENTS = {"input_size": REQUIRED, "hidden_size": REQUIRED, "bias": True, "nonlinearity": "tanh", "device": None, "dtype": None}
    nonlinearity: str

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise runtime_error(f"Unknown nonlinearity: {formatted(self.nonlinearity)}")
        return self.step(f"rnn_{self.nonlinearity}_cell", input, None if hx is None else (hx,))

    def extra_repr(self) -> str:
        return ", ".join([super().extra_repr(), *self.unusual("nonlinearity")])


class LSTMCell(Cell, place="rnn"):
    """One step of an LSTM; the state is a pair."""

    GATES = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        if type(hx) is Tensor:
            raise ProgramError("TypeError", "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        return self.step("lstm_cell", input, None if hx is None else tuple(hx))


class GRUCell(Cell, place="rnn"):
    """One step of gated recurrent units."""

    GATES = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self.step("gru_cell", input, None if hx is None else (hx,))
