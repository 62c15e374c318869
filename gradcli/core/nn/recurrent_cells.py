"""One step of a recurrent network as a module: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcli.core.calling.script_types import Attributes
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.nn.init import uniform_array
from gradcli.core.nn.linear import checked_size, floating
from gradcli.core.nn.module import Module, module_type, parameters_of
from gradcli.core.nn.parameter import new_parameter
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError

_OWN, _SET_OWN = parameters_of("weight_ih weight_hh bias_ih bias_hh")


class Cell(Module):
    """What all share; GATES is how many maps of input and state there are."""

    GATES = 1
    SCRIPT_ATTRIBUTES = Module.SCRIPT_ATTRIBUTES | Attributes.read("input_size hidden_size bias") | _OWN
    SCRIPT_SETTERS = Module.SCRIPT_SETTERS | _SET_OWN

    def set_up(self, input_size: Any, hidden_size: Any, bias: Any, dtype: Any) -> None:
        """Keep the settings and draw the parameters."""
        wanted = floating(dtype)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
        rows = self.GATES * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for name, shape in shapes.items():
            size = checked_size(shape, wanted)
            drawn = bias or name.startswith("weight")
            self.own_parameters[name] = new_parameter(uniform_array(size, bound, wanted), wanted) if drawn else None

    def step(self, function: str, input: Any, states: tuple[Any, ...] | None) -> Any:
        """One step; a row alone is a batch of one for the time being."""
        if type(input) is not Tensor:
            raise no_attribute(input, "dim")
        rank = input.array.ndim
        if rank not in (1, 2):
            raise ProgramError("ValueError", f"{self.SCRIPT_NAME}: Expected input to be 1D or 2D, got {rank}D instead")
        for at, state in enumerate(states or ()):
            if state.array.ndim not in (1, 2):
                where = f"hx[{at}]" if len(states or ()) == 2 else "hidden"
                raise ProgramError("ValueError", f"{self.SCRIPT_NAME}: Expected {where} to be 1D or 2D, got {state.array.ndim}D instead")
        unsqueeze = catalog.function("unsqueeze")
        x = input if rank == 2 else unsqueeze(input, 0)
        pair = function == "lstm_cell"
        if states is None:
            zeros = Tensor(np.zeros((x.array.shape[0], self.hidden_size), x.dtype.np), x.dtype)
            given: Any = (zeros, zeros) if pair else (zeros,)
        else:
            given = states if rank == 2 else tuple(unsqueeze(s, 0) for s in states)
        made = catalog.function(function)(x, tuple(given) if pair else given[0], *self.own_parameters.values())
        if rank == 2:
            return made
        squeeze = catalog.function("squeeze")
        return tuple(squeeze(s, 0) for s in made) if pair else squeeze(made, 0)

    def extra(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")


class RNNCell(Cell):
    """`tanh` or `relu` of linear maps of input and state."""

    SCRIPT_NAME = "RNNCell"
    SCRIPT_ATTRIBUTES = Cell.SCRIPT_ATTRIBUTES | Attributes.read("nonlinearity")

    def __init__(
        self, input_size: Any, hidden_size: Any, bias: Any = True, nonlinearity: Any = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.set_up(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise ProgramError("RuntimeError", f"Unknown nonlinearity: {self.nonlinearity}")
        return self.step(f"rnn_{self.nonlinearity}_cell", input, None if hx is None else (hx,))

    def extra(self) -> str:
        return super().extra() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(Cell):
    """One step of an LSTM; the state is a pair."""

    SCRIPT_NAME = "LSTMCell"
    GATES = 4

    def __init__(self, input_size: Any, hidden_size: Any, bias: Any = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.set_up(input_size, hidden_size, bias, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        if type(hx) is Tensor:
            raise ProgramError("TypeError", "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor")
        return self.step("lstm_cell", input, None if hx is None else tuple(hx))


class GRUCell(Cell):
    """One step of gated recurrent units."""

    SCRIPT_NAME = "GRUCell"
    GATES = 3

    def __init__(self, input_size: Any, hidden_size: Any, bias: Any = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.set_up(input_size, hidden_size, bias, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self.step("gru_cell", input, None if hx is None else (hx,))


RNNCELL_TYPE = module_type(RNNCell, "rnn")
LSTMCELL_TYPE = module_type(LSTMCell, "rnn")
GRUCELL_TYPE = module_type(GRUCell, "rnn")
