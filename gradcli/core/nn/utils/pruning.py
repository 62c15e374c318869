"""torch.nn.utils.prune: parameters of which a mask, a buffer, keeps some elements; hooks compute them before each call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Attributes, Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.calling.type_errors import no_attribute, type_error
from gradcli.core.kernels import Array
from gradcli.core.nn.module import Module
from gradcli.core.nn.module_hooks import before_forward
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.shape.casting import to_dtype
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError

#: what makes a method of a class: the class with the arguments of its `__init__`
Make = Callable[..., Any]


def flattened(tensor: Tensor) -> Tensor:
    """The elements in one dimension, without history."""
    return Tensor(np.asarray(tensor.array).reshape(-1), tensor.dtype)


def copied(mask: Tensor) -> Tensor:
    """The elements in memory of their own, in row-major order, without history."""
    return Tensor(np.array(mask.array, order="C"), mask.dtype)


class BasePruningMethod(Scripted):
    """A way to choose elements of a parameter that become 0: `compute_mask` has 1 for those that stay."""

    SCRIPT_NAME = "BasePruningMethod"
    SCRIPT_TYPE: ScriptType
    BASE_OF = "pruning methods"
    PRUNING_TYPE: Any = None
    SCRIPT_ATTRIBUTES: dict[str, Callable[[Any], Any]] = Attributes.read("PRUNING_TYPE") | {"_tensor_name": lambda one: one.tensor_name}

    #: the name of the parameter, once it is known
    tensor_name: Any = None

    def __init__(self) -> None:
        """A method without settings. TypeError for the base itself, which chooses nothing."""
        if type(self) is BasePruningMethod:
            text = "Can't instantiate abstract class BasePruningMethod with abstract method compute_mask"
            raise ProgramError("TypeError", text)

    def __init_subclass__(cls, known: bool = True) -> None:
        if known:
            cls.SCRIPT_NAME = cls.__name__
            cls.SCRIPT_STATIC = {"apply": Routine(cls.applied(cls), f"{cls.__name__}.apply", hide_first=True)}
            script_type(cls, "torch.nn.utils.prune", exact=True)

    @staticmethod
    def applied(make: Make) -> Callable[..., Any]:
        """`apply` of a class, whose methods `make` makes."""

        def apply(module: Any, name: Any, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
            return apply_pruning(make, module, name, *args, importance_scores=importance_scores, **kwargs)

        return apply

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of a tensor, of which `default_mask` has taken elements already."""
        raise ProgramError("NotImplementedError", "")

    def apply_mask(self, module: Any) -> Any:
        """The parameter with 0 where the mask is 0. AssertionError before it is known which."""
        self._check_known(module, "")
        mask, orig = (module.attribute(f"{self.tensor_name}_{ending}") for ending in ("mask", "orig"))
        return to_dtype(mask, orig.dtype) * orig

    def _check_known(self, module: Any, more: str) -> None:
        if self.tensor_name is None:
            raise ProgramError("AssertionError", f"Module {shown(module)} has to be pruned{more}")

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor with 0 at the places that are chosen."""
        shape = with_method(t, "shape").shape
        if importance_scores is not None and (given := with_method(importance_scores, "shape").shape) != shape:
            raise ProgramError("AssertionError", f"importance_scores should have the same shape as tensor t, got {given} vs {shape}")
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Hold the parameter again, as it is with its mask."""
        self._check_known(module, " before pruning can be removed")
        name, orig = self.tensor_name, f"{self.tensor_name}_orig"
        weight = self.apply_mask(module)
        module.forget(name)
        parameter = module.own_parameters[orig]
        parameter.array = np.array(weight.array)
        parameter.counter().count += 1
        del module.own_parameters[orig], module.own_buffers[f"{name}_mask"]
        module.assign(name, parameter)

    def refresh(self, module: Any, inputs: Any) -> None:
        """Compute the parameter anew, before a call."""
        module.assign(self.tensor_name, self.apply_mask(module))

    SCRIPT_METHODS = {
        **{method.__name__: Routine(method, method.__name__, hide_first=True) for method in (apply_mask, prune, remove)},
        "compute_mask": Routine(lambda self, t, default_mask: self.compute_mask(t, default_mask), "compute_mask", hide_first=True),
        "__call__": Routine(refresh, "__call__"),
    }


def hooks_of(module: Any) -> Iterator[tuple[int, BasePruningMethod]]:
    """The methods among the hooks before a module's calls, with their numbers."""
    for number, run in list(module.before.functions.items()) if isinstance(module, Module) and module.before else ():
        method = getattr(run, "hook", None)
        if isinstance(method, BasePruningMethod):
            yield number, method


def check_place(module: Any, name: Any) -> None:
    """Raise AttributeError for what is no module, and TypeError for a name that is no string."""
    if not isinstance(module, Module):
        raise no_attribute(module, "_forward_pre_hooks")
    if not isinstance(name, str):
        raise type_error("attribute name must be string, not '{}'", name)


def _combined(make: Make, module: Any, name: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> BasePruningMethod:
    """A new method, or the container of it and of those that the parameter has already."""
    before = [(number, method) for number, method in hooks_of(module) if method.tensor_name == name]
    for number, _ in before:
        del module.before.functions[number]
    method: BasePruningMethod = make(*args, **kwargs)
    method.tensor_name = name
    if not before:
        return method
    old = before[0][1]
    container = old if isinstance(old, PruningContainer) else PruningContainer(old)
    container.add_pruning_method(method)
    return container


def apply_pruning(make: Make, module: Any, name: Any, *args: Any, importance_scores: Any = None, **kwargs: Any) -> BasePruningMethod:
    """Take the place of a parameter: `name_orig` and the buffer `name_mask` are what it is computed from."""
    check_place(module, name)
    method = _combined(make, module, name, args, kwargs)
    orig = with_method(module.attribute(name), "shape")
    if importance_scores is not None and with_method(importance_scores, "shape").shape != orig.shape:
        text = f"importance_scores should have the same shape as parameter {name} of {shown(module)}"
        raise ProgramError("AssertionError", f"{text}, got {importance_scores.shape} vs {orig.shape}")
    first = not isinstance(method, PruningContainer)
    if first:
        module.register_parameter(f"{name}_orig", orig)
        module.forget(name)
    default = ones_like(orig) if first else copied(module.attribute(f"{name}_mask"))
    done = False
    try:
        mask = method.compute_mask(orig if importance_scores is None else importance_scores, default_mask=default)
        module.register_buffer(f"{name}_mask", mask)
        method.refresh(module, None)
        done = True
    finally:
        if first and not done:
            module.own_parameters[name] = module.own_parameters.pop(f"{name}_orig")
    module.hooks_before().add(before_forward(method.refresh, False, method))
    return method


class PruningContainer(BasePruningMethod):
    """Methods that were applied to one parameter, one after the other."""

    def __init__(self, *args: Any) -> None:
        self.methods: tuple[Any, ...] = ()
        if len(args) == 1:
            if not isinstance(args[0], BasePruningMethod):
                raise no_attribute(args[0], "_tensor_name")
            self.tensor_name = args[0].tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Put a method at the end. TypeError for other values, ValueError for a method of another parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise ProgramError("TypeError", f"{language.type_repr(method)} is not a BasePruningMethod subclass")
        if method is not None and self.tensor_name != method.tensor_name:
            text = f"Can only add pruning methods acting on the parameter named '{self.tensor_name}' to PruningContainer {shown(self)}."
            raise ProgramError("ValueError", f"{text} Found '{method.tensor_name}'")
        limits.check_list(len(self.methods) + 1)
        self.methods += (method,)

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of what `default_mask` keeps, by the last method."""
        limits.evaluation.tick()
        method, made = self.methods[-1], to_dtype(copied(with_method(default_mask, "to")), with_method(t, "dtype").dtype)
        place = _kept(method, t, np.asarray(default_mask.array))
        scores, mask = (Tensor(np.array(np.asarray(one.array)[place]), one.dtype) for one in (t, default_mask))
        np.asarray(made.array)[place] = with_method(method.compute_mask(scores, default_mask=mask), "to").array
        return made

    SCRIPT_METHODS = {
        **BasePruningMethod.SCRIPT_METHODS,
        "add_pruning_method": Routine(add_pruning_method, "add_pruning_method", hide_first=True),
        "__len__": Routine(lambda self: len(self.methods), "__len__"),
        "__iter__": Routine(lambda self: iter(self.methods), "__iter__"),
        "__getitem__": Routine(lambda self, idx: self.methods[idx], "__getitem__"),
    }


def _kept(method: Any, t: Tensor, mask: Array) -> Any:
    """The index of what a method chooses from: elements, whole slices, or all."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return ...
    if kind != "structured":
        raise ProgramError("ValueError", f"Unrecognized PRUNING_TYPE {formatted(kind)}")
    rank, dim = t.array.ndim, getattr(method, "dim", None)
    if type(dim) is not int:
        text = 'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        raise ProgramError("AttributeError", text)
    if dim < -rank:
        raise ProgramError("IndexError", f"Index is out of bounds for tensor with dimensions {rank}")
    dim %= rank
    return (slice(None),) * dim + (mask.sum(tuple(d for d in range(rank) if d != dim)) != 0,)


script_type(BasePruningMethod, "torch.nn.utils.prune")


@Routine
def remove(module: Any, name: Any) -> Any:
    """Hold a parameter again, as it is with its mask. ValueError for one without."""
    check_place(module, name)
    for number, method in hooks_of(module):
        if method.tensor_name == name:
            method.remove(module)
            del module.before.functions[number]
            return module
    text = f"Parameter '{formatted(name)}' of module {shown(module)} has to be pruned before pruning can be removed"
    raise ProgramError("ValueError", text)


@Routine
def is_pruned(module: Any) -> bool:
    """Whether a module or one below has a parameter with a mask."""
    if not isinstance(module, Module):
        raise no_attribute(module, "named_modules")
    return any(True for _, one in module.walk() for _ in hooks_of(one))
