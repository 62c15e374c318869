"""torch.nn.utils.parametrize: parameters and buffers of a module that other modules compute from what is learned."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.core.autograd.grad_mode import Decorating
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import Scripted, ScriptType, script_type
from gradcli.core.calling.signature import language
from gradcli.core.nn.module import Module
from gradcli.core.nn.modules.containers import ModuleDict, ModuleList
from gradcli.core.nn.parameter import as_parameter
from gradcli.core.tensor.state import recording
from gradcli.core.tensor.tensor import Size, Tensor
from gradcli.core.tensor.text import formatted, shown
from gradcli.errors import ProgramError, runtime_error

NAME = "parametrizations"


class _Cache:
    """What parametrizations have computed within blocks of `cached()`; nothing outside."""

    def __init__(self) -> None:
        self.depth = 0
        self.made: dict[int, tuple[Module, Any]] = {}


_cache = _Cache()


class Cached(Decorating, Scripted):
    """`with cached():` computes each parameter once in the block."""

    __slots__ = ("__weakref__",)

    SCRIPT_NAME = "contextlib._GeneratorContextManager"
    SCRIPT_TYPE: ScriptType

    def copy(self) -> Cached:
        return Cached()

    def enter(self) -> None:
        _cache.depth += 1

    def exit(self) -> None:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.made = {}


Cached.SCRIPT_TYPE = ScriptType(Cached.SCRIPT_NAME, "contextlib", None, lambda value: type(value) is Cached)


@Routine
def cached() -> Cached:
    """A block in which each parametrization is computed once."""
    return Cached()


# --- the modules of one parameter ---


def inverse_of(module: Any) -> Any:
    """The method `right_inverse` of a parametrization, None if it has none."""
    return getattr(module, "right_inverse", None)


def _wrong(text: str, value: Any) -> ProgramError:
    return ProgramError("ValueError", text.format(language.type_name(value)))


def _set(tensor: Tensor, value: Tensor) -> None:
    """`tensor.set_(value)`."""
    tensor.array = value.array
    tensor.counter().count += 1


def _register(module: Module, name: str, tensor: Tensor | None) -> None:
    (module.own_parameters if tensor is not None and tensor.is_parameter else module.own_buffers)[name] = tensor


class ParametrizationList(ModuleList):
    """The modules that compute a tensor one after the other, and the tensors they compute it from."""

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.array.shape, original.dtype
        new = self._inverted(original)
        self.is_tensor = type(new) is Tensor
        self.count = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._hold(original, new)
        else:
            for i, one in enumerate(new):
                limits.evaluation.tick()
                if type(one) is not Tensor:
                    sequence = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
                    raise _wrong(f"{sequence} Got element {i} of the sequence with type {{}}.", one)
                _register(self, f"original{i}", as_parameter(one, original.requires_grad) if original.is_parameter else one)
        if not unsafe:
            _check_like(self.value(), shape, dtype)

    def _inverted(self, value: Any) -> Any:
        """What the modules compute a value from: a tensor or a sequence. ValueError for anything else."""
        with recording(False):
            for module in reversed(list(self)):
                inverse = inverse_of(module)
                if inverse is not None:
                    value = _unless_missing(inverse, value)
        if type(value) is not Tensor and not isinstance(value, (tuple, list)):
            raise _wrong("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {}", value)
        return value

    def _hold(self, original: Tensor, new: Tensor) -> None:
        if new.dtype is not original.dtype:
            raise ProgramError(
                "ValueError",
                f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype!r}\n"
                f"right_inverse(original).dtype: {new.dtype!r}",
            )
        _set(original, new)
        _register(self, "original", original)

    def originals(self) -> list[Any]:
        """The tensors that are learned."""
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.count)]
        return [self.own_parameters[n] if n in self.own_parameters else self.own_buffers[n] for n in names]

    def value(self) -> Any:
        """The tensor as it is read from the module."""
        if _cache.depth:
            known = _cache.made.get(id(self))
            if known is None:
                known = _cache.made[id(self)] = self, self()
            return known[1]
        return self()

    def forward(self) -> Any:
        first, *rest = self
        x = first(*self.originals())
        for module in rest:
            x = module(x)
        return x

    def right_inverse(self, value: Any) -> None:
        """Let the modules compute a value of the tensor: `module.weight = value`."""
        with recording(False):
            for module in reversed(list(self)):
                inverse = inverse_of(module)
                if inverse is None:
                    name = module.shown_name()
                    raise runtime_error(f"parametrization {name} does not implement right_inverse.")
                value = inverse(value)
        held = self.originals()
        if self.is_tensor:
            if type(value) is not Tensor:
                raise _wrong("`right_inverse` should return a tensor. Got {}", value)
            if value.dtype is not held[0].dtype:
                raise ProgramError(
                    "ValueError",
                    f"The tensor returned by `right_inverse` has dtype {value.dtype!r} while `original` has dtype {held[0].dtype!r}",
                )
            value = (value,)
        if len(value) != len(held):
            raise ProgramError(
                "ValueError",
                f"'right_inverse' must return a sequence of tensors of length {len(held)}. Got a sequence of length {len(value)}.",
            )
        for one, new in zip(held, value, strict=True):
            _set(one, new)

    METHODS = "right_inverse"
    SETTINGS = "unsafe is_tensor"
    SCRIPT_NAME = "ParametrizationList"


script_type(ParametrizationList, "torch.nn.utils.parametrize")


def _unless_missing(inverse: Any, value: Any) -> Any:
    """The inverse of a value; the value itself where the inverse says that it is not implemented."""
    try:
        return inverse(value)
    except ProgramError as error:
        if error.type_name != "NotImplementedError":
            raise
        return value


def _check_like(made: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Check that a parametrization keeps shape and dtype."""
    if type(made) is not Tensor:
        raise _wrong("A parametrization must return a tensor. Got {}.", made)
    for what, before, after in (("dtype", dtype, made.dtype), ("shape", Size(shape), made.shape)):
        if before != after:
            raise ProgramError(
                "ValueError",
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized {what}: {formatted(before)}\nparametrized {what}: {formatted(after)}",
            )


# --- what programs call ---


@Routine
def is_parametrized(module: Any, tensor_name: Any = None) -> bool:
    """Whether a module computes a tensor of this name, or any."""
    lists = module.children_by_name.get(NAME) if isinstance(module, Module) else None
    if lists is None or tensor_name is None:
        return lists is not None and bool(len(lists))
    return isinstance(tensor_name, str) and tensor_name in lists.children_by_name


@Routine
def type_before_parametrizations(module: Any) -> Any:
    """The type of a module without its parametrizations."""
    return module.cls if hasattr(module, "cls") else type(module).SCRIPT_TYPE


@Routine
def register_parametrization(module: Any, tensor_name: Any, parametrization: Any, *, unsafe: Any = False) -> Any:
    """Let `parametrization(original)` compute a parameter or buffer of a module from now on. ValueError if there is none of the name."""
    parametrization.train(module.training)
    known = module.parametrization(tensor_name)
    if known is not None:
        if not unsafe:
            before = known.value()
            _check_like(parametrization(before), before.array.shape, before.dtype)
        known.append(parametrization)
        known.unsafe = bool(known.unsafe or unsafe)
        return module
    for field in ("own_parameters", "own_buffers"):
        table = vars(module)[field]
        if isinstance(tensor_name, str) and tensor_name in table:
            made = ParametrizationList([parametrization], table[tensor_name], bool(unsafe))
            module.forget(tensor_name)
            module.children_by_name.setdefault(NAME, ModuleDict()).children_by_name[tensor_name] = made
            return module
    raise ProgramError(
        "ValueError",
        f"Module '{shown(module)}' does not have a parameter, a buffer, or a parametrized element with name '{formatted(tensor_name)}'",
    )


@Routine
def remove_parametrizations(module: Any, tensor_name: Any, leave_parametrized: Any = True) -> Any:
    """Hold a tensor again: with the value that was computed last, or else with the one it is computed from."""
    known = module.parametrization(tensor_name) if isinstance(module, Module) else None
    if known is None:
        raise ProgramError("ValueError", f"Module {shown(module)} does not have a parametrization on {formatted(tensor_name)}")
    original = known.originals()[0]
    if known.is_tensor:
        if leave_parametrized:
            with recording(False):
                _set(original, known.value())
    elif leave_parametrized:
        value = known.value()
        original = as_parameter(value) if value.requires_grad else value
    else:
        raise ProgramError(
            "ValueError",
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors.",
        )
    lists = module.children_by_name[NAME]
    del lists.children_by_name[tensor_name]
    _register(module, tensor_name, original)
    if not len(lists):
        del module.children_by_name[NAME]
    return module
