"""Seeds and states of random generators: `torch.manual_seed`, `torch.Generator` and their kin."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import type_error
from gradcli.core.random import generator
from gradcli.core.random.generator import Generator
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.tensor.text import shown
from gradcli.errors import ProgramError, runtime_error


def _seed_of(seed: Any) -> int:
    if type(seed) is Tensor:
        seed = seed.item()
    if isinstance(seed, (int, float)):
        return int(seed)
    if isinstance(seed, str):
        try:
            return int(seed)
        except ValueError:
            raise ProgramError("ValueError", f"invalid literal for int() with base 10: {shown(seed)}") from None
    raise type_error("int() argument must be a string, a bytes-like object or a real number, not '{}'", seed)


def generator_of(source: object) -> Generator:
    """The generator given as an argument, or the default one for None. TypeError for anything else."""
    if source is None:
        return generator.default
    if type(source) is not Generator:
        raise type_error("argument 'generator' must be torch.Generator, not {}", source)
    return source


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator."""
    return generator.default.manual_seed(_seed_of(seed))


def _generator_seed(self: Generator, seed: Any) -> Generator:
    number = language.plain(seed)
    if type(number) is not int:
        raise runtime_error(f"manual_seed expected a long, but got {language.type_name(seed)}")
    if number is not seed:  # one of numpy's integers
        raise ProgramError("TypeError", "an integer is required")
    return self.manual_seed(number)


def _state_tensor(source: Generator) -> Tensor:
    return wrap(source.get_state())


def _clone_state(source: Generator) -> Generator:
    made = Generator()
    made.set_state(source.get_state())
    return made


def _set_state(source: Generator, state: Any) -> Generator:
    if type(state) is not Tensor:
        raise ProgramError("TypeError", f"expected a torch.ByteTensor, but got {language.type_name(state)}")
    if state.dtype is not dtypes.uint8:
        raise ProgramError("TypeError", "RNG state must be a torch.ByteTensor")
    source.set_state(state.array)
    return source


def _get_rng_state() -> Tensor:
    return _state_tensor(generator.default)


def _set_rng_state(new_state: Any) -> None:
    _set_state(generator.default, new_state)


def _seed() -> int:
    return generator.default.seed()


def _initial_seed() -> int:
    return generator.default.initial_seed()


def _make_generator(device: Any = "cpu") -> Generator:
    check_device(device)
    return Generator()


MANUAL_SEED = Routine(manual_seed)
SEED = Routine(_seed, "seed")
INITIAL_SEED = Routine(_initial_seed, "initial_seed")
GET_RNG_STATE = Routine(_get_rng_state, "get_rng_state")
SET_RNG_STATE = Routine(_set_rng_state, "set_rng_state")
GENERATOR = ScriptType("Generator", "torch._C", _make_generator, lambda v: type(v) is Generator)
DEFAULT_GENERATOR = generator.default

#: the methods of a generator, for the language's tables
GENERATOR_METHODS: dict[str, Routine] = {
    "manual_seed": Routine(_generator_seed, "manual_seed"),
    "seed": Routine(lambda self: self.seed(), "seed"),
    "initial_seed": Routine(lambda self: self.initial_seed(), "initial_seed"),
    "get_state": Routine(_state_tensor, "get_state"),
    "clone_state": Routine(_clone_state, "clone_state"),
    "set_state": Routine(_set_state, "set_state"),
}
