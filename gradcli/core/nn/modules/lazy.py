"""Lazy modules, which learn the size of their input in the first call, and become the modules that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.autograd.tensor_state import read_data
from gradcli.core.calling.declared_arguments import DeclaredConstructor
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.functions._index import METHODS
from gradcli.core.nn.modules import convolution, linear, normalization
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.parameter import checked_size, floating
from gradcli.core.random import generator
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
    "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
    "attributes."
)
_NO_CALL = (
    "Attempted to use an uninitialized parameter in <method '{}' of 'torch._C.TensorBase' objects>. This error happens when you are using "
    "a `LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call `forward` "
    "with a dummy batch to initialize the parameters before calling torch functions"
)


def _no_shape(tensor: Any) -> Any:
    raise runtime_error(_NO_SHAPE)


class UninitializedTensor(Tensor, Scripted):
    """A buffer without a shape. It becomes a tensor, and stays the same object."""

    __slots__ = ()

    SCRIPT_NAME = "UninitializedBuffer"
    SCRIPT_TYPE: ScriptType
    SCRIPT_ATTRIBUTES = Attributes.read("dtype grad requires_grad is_leaf") | {"data": read_data, "shape": _no_shape}

    def __init__(self, dtype: DType) -> None:
        super().__init__(np.zeros(0, dtype.np), dtype)

    def become(self, held: Tensor) -> None:
        """Take the memory of a tensor."""
        self.array, self.dtype = held.array, held.dtype
        self.__class__ = Tensor  # type: ignore[assignment]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become a tensor of a shape, which nothing has been written to: zeros."""
        if device is not None:
            check_device(device)
        kind = self.dtype if dtype is None else floating(dtype)
        self.become(Tensor(np.zeros(checked_size(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), kind), kind.np), kind))

    def refuse(self, name: str, default: Any = None) -> Any:
        """Raise the error of a method of tensors; `default` for other names."""
        if name in METHODS:
            raise ProgramError("ValueError", _NO_CALL.format(name))
        return default

    def __repr__(self) -> str:
        return f"<{self.SCRIPT_NAME}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    SCRIPT_METHODS = {"__getattr__": Routine(refuse), "materialize": Routine(materialize, "UninitializedTensorMixin.materialize")}


class UninitializedWeight(UninitializedTensor):
    """A parameter without a shape."""

    __slots__ = ()

    SCRIPT_NAME = "UninitializedParameter"

    def __init__(self, dtype: DType) -> None:
        super().__init__(dtype)
        self.requires_grad = True
        self.meta = {"parameter": True}


def _type_of(kind: type[UninitializedTensor], construct: Callable[..., UninitializedTensor]) -> ScriptType:
    return ScriptType(kind.SCRIPT_NAME, "torch.nn.parameter", construct, lambda value: type(value) is kind)


def _new_weight(requires_grad: Any = True, device: Any = None, dtype: Any = None) -> UninitializedTensor:
    made = UninitializedWeight(floating(dtype))
    made.requires_grad = bool(requires_grad)
    return made


def _new_buffer(requires_grad: Any = False, device: Any = None, dtype: Any = None, persistent: Any = True) -> UninitializedTensor:
    made = UninitializedTensor(floating(dtype))
    made.meta = {"buffer": True, "persistent": persistent}
    made.requires_grad = bool(requires_grad)
    return made


UninitializedParameter = UninitializedWeight.SCRIPT_TYPE = _type_of(UninitializedWeight, _new_weight)
UninitializedBuffer = UninitializedTensor.SCRIPT_TYPE = _type_of(UninitializedTensor, _new_buffer)


class LazyModule(FunctionModule):
    """A module of class BECOMES whose argument INFERRED comes from the first input."""

    BECOMES: type[FunctionModule]
    INFERRED: str
    METHODS = "has_uninitialized_params reset_parameters"
    #: classes of programs do not derive from lazy modules
    BASE_OF = ""

    def keep(self, given: dict[str, Any]) -> None:
        #: the arguments, for the module that it becomes
        self.given = given
        groups = given.get("groups", 1)
        state = generator.default.get_state()
        self.BECOMES.keep(self, given | {self.INFERRED: groups if isinstance(groups, int) and groups > 0 else 1})
        generator.default.set_state(state)  # nothing is drawn until the sizes are known
        vars(self)[self.INFERRED] = 0
        for table, kind in ((self.own_parameters, UninitializedWeight), (self.own_buffers, UninitializedTensor)):
            for name, tensor in table.items():
                if tensor is not None and tensor.array.ndim:
                    table[name] = kind(tensor.dtype)

    def reset_parameters(self) -> None:
        """Nothing: the first call draws the parameters."""

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(isinstance(tensor, UninitializedTensor) for *_, tensor in self.named_state())

    def size_of(self, input: Any) -> int:
        """The argument that the first input determines."""
        raise NotImplementedError

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        source = args[0] if args else kwargs.get("input")
        if type(source) is not Tensor:
            raise ProgramError("AttributeError", f"'{language.type_name(source)}' object has no attribute 'shape'")
        try:
            size = self.size_of(source)
        except IndexError as error:
            raise ProgramError("IndexError", str(error)) from None
        self._settle(size)
        return self(*args, **kwargs)

    def _settle(self, size: int) -> None:
        dtype = next((tensor.dtype for *_, tensor in self.named_state() if tensor.dtype.is_differentiable), None)
        given = {name: value for name, value in self.given.items() if name != "device"}
        drawing = self.has_uninitialized_params()
        state = generator.default.get_state()
        made = self.BECOMES(**given | {self.INFERRED: size, "dtype": dtype})
        if not drawing:
            generator.default.set_state(state)
        for name, _, own, new in made.named_state():
            table = self.own_parameters if own in self.own_parameters else self.own_buffers
            held = table[name]
            if isinstance(held, UninitializedTensor):
                held.become(new)
        vars(self).update((name, vars(made)[name]) for name in self.BECOMES._settings)
        del self.given
        self.__class__ = self.BECOMES  # type: ignore[assignment]


def _last(module: LazyModule, input: Tensor) -> int:
    return int(input.array.shape[-1])


def _channels(module: LazyModule, input: Tensor) -> int:
    """The channels of an input with or without a batch dimension. RuntimeError for another number of dimensions."""
    rank, shape = module.BECOMES.RANK, input.array.shape
    if len(shape) not in (rank + 1, rank + 2):
        name = module.SCRIPT_NAME
        raise shape_error(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: torch.Size({list(shape)})"
        )
    return int(shape[-rank - 1])


def _second(module: LazyModule, input: Tensor) -> int:
    return int(input.array.shape[1])


def _lazy(base: type[FunctionModule], inferred: str, size_of: Callable[[Any, Tensor], int], **defaults: Any) -> type[FunctionModule]:
    """The lazy class of a class; `defaults` are defaults that differ."""
    name = f"Lazy{base.SCRIPT_NAME}"
    init_name = "_LazyNormBase" if issubclass(base, normalization.Norm) else name
    namespace = {
        "__module__": __name__,
        "__doc__": f"{base.SCRIPT_NAME}, for an input of a size that the first call tells.",
        "ARGUMENTS": {name: defaults.get(name, value) for name, value in base.ARGUMENTS.items() if name != inferred},
        "BECOMES": base,
        "INFERRED": inferred,
        "INIT_NAME": init_name,
        "size_of": size_of,
        "SETTINGS": base.SETTINGS,
    }
    place = base.SCRIPT_TYPE.module.removeprefix("torch.nn.modules.")
    made: type[FunctionModule] = type(name, (LazyModule, base), namespace, place=place)
    made.SCRIPT_TYPE.construct = DeclaredConstructor(made, init_name)
    return made


_RANKS = (1, 2, 3)
CLASSES: dict[str, type[FunctionModule]] = {
    made.SCRIPT_NAME: made
    for made in (
        _lazy(linear.Linear, "in_features", _last),
        *(_lazy(convolution.CLASSES[f"{kind}{n}d"], "in_channels", _channels) for kind in ("Conv", "ConvTranspose") for n in _RANKS),
        *(_lazy(vars(normalization)[f"BatchNorm{n}d"], "num_features", _second) for n in _RANKS),
        *(_lazy(vars(normalization)[f"InstanceNorm{n}d"], "num_features", _second, affine=True, track_running_stats=True) for n in _RANKS),
    )
}
