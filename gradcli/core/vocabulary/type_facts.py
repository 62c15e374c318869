"""What torch says of the types of values, and dimensions rearranged by a pattern."""

from __future__ import annotations

import math
import re
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.script_types import ScriptType
from gradcli.core.calling.signature import language
from gradcli.core.functions import catalog
from gradcli.core.nn.module_tree import kind_of
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.device import check as check_device
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.text import formatted
from gradcli.core.vocabulary.torch_types import CPU, Device
from gradcli.errors import ProgramError

_LEGACY = {
    "FloatTensor": dtypes.float32,
    "DoubleTensor": dtypes.float64,
    "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16,
}


def _typename(obj: Any) -> str:
    return kind_of(obj)


def _is_tensor_like(inp: Any) -> bool:
    return isinstance(inp, Tensor)


def _is_storage(obj: Any) -> bool:
    return getattr(obj, "SCRIPT_NAME", "") in ("UntypedStorage", "TypedStorage")


def _default_device() -> Device:
    return CPU


def _set_default_device(device: Any) -> None:
    """Accepted for the cpu, where all tensors are. RuntimeError for another device."""
    if device is not None:
        check_device(device)


def _has_torch_function(*args: Any) -> bool:
    """Whether an argument overrides torch's functions: no value of gradcli does."""
    return False


def _handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function as if nothing overrode torch's functions. TypeError where no argument is a tensor."""
    if any(type(one) is Tensor for one in language.collect(relevant_args)):
        return public_api(*args, **kwargs)
    name = f"{getattr(public_api, 'namespace', '__main__')}.{formatted(getattr(public_api, 'name', ''))}"
    text = f"no implementation found for '{name}' on types that implement __torch_function__: []"
    raise ProgramError("TypeError", text)


def _set_default_tensor_type(t: Any) -> None:
    text = (
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives. (Triggered internally at "
        "/__w/pytorch/pytorch/torch/csrc/tensor/python_tensor.cpp:434.)"
    )
    warnings.emit(text, once="set_default_tensor_type")
    name = t.removeprefix("torch.") if isinstance(t, str) else t.name if isinstance(t, ScriptType) else ""
    if name not in _LEGACY:
        if not name.endswith("Tensor"):
            raise ProgramError("TypeError", "invalid type object")
        raise ProgramError("TypeError", "only floating-point types are supported as the default type")
    dtypes.set_default(_LEGACY[name])


def _no_generator() -> None:
    """The generator of a worker: there are no workers, and the default generator is used."""


# --- rearrange ---

_WORD = re.compile(r"\s*(\(|\)|\.\.\.|[A-Za-z_][A-Za-z0-9_]*|\S)")


def _groups(side: str) -> list[list[str]]:
    """The names of each dimension: one, or several in parentheses. ValueError for anything else."""
    made: list[list[str]] = []
    inside: list[str] | None = None
    for word in _WORD.findall(side):
        if word == "(" and inside is None:
            inside = []
        elif word == ")" and inside is not None:
            made.append(inside)
            inside = None
        elif word == "..." or word.isidentifier() or word == "1":
            names = [] if word == "1" else [word]
            if inside is None:
                made.append(names)
            else:
                inside += names
        else:
            raise ProgramError("ValueError", f"Unknown character '{word}' in pattern")
    if inside is not None:
        raise ProgramError("ValueError", "Unbalanced parentheses in pattern")
    return made


def _spread(groups: list[list[str]], rank: int) -> list[list[str]]:
    """The groups with as many dimensions as `...` stands for, so that `rank` come together."""
    extra = [f"...{i}" for i in range(rank - len(groups) + 1)]
    made: list[list[str]] = []
    for group in groups:
        made += [[name] for name in extra] if group == ["..."] else [[n for name in group for n in (extra if name == "..." else [name])]]
    return made


def _sizes(groups: list[list[str]], shape: tuple[int, ...], known: dict[str, int]) -> dict[str, int]:
    """The size of each name. ValueError for sizes that do not divide a dimension."""
    found = dict(known)
    for group, size in zip(groups, shape, strict=True):
        unknown = [name for name in group if name not in found]
        given = math.prod(found[name] for name in group if name in found)
        if len(unknown) > 1 or (given != size if not unknown else not given or size % given):
            raise ProgramError("ValueError", f"a dimension of size {size} is not split into {' '.join(group)}")
        found |= dict.fromkeys(unknown, size // given if unknown else 0)
    return found


def _rearrange(tensor: Any, pattern: Any, /, **axes_lengths: Any) -> Any:
    if type(tensor) is not Tensor:
        tensor = catalog.function("stack")(tensor)
    sides = [_groups(side) for side in pattern.split("->")]
    if len(sides) != 2:
        raise ProgramError("ValueError", "Pattern must contain exactly one '->' separator")
    rank = tensor.array.ndim
    dots = any("..." in group for group in sides[0])
    if len(sides[0]) > rank + dots or (not dots and len(sides[0]) != rank):
        have = f"Number of dimensions in pattern ({len(sides[0])}) must be equal to the number of dimensions in the tensor ({rank})"
        raise ProgramError("ValueError", have)
    left = _spread(sides[0], rank)
    names = [name for group in left for name in group]
    right = _spread(sides[1], len(sides[1]) - any(group == ["..."] for group in sides[1]) + sum(n.startswith("...") for n in names))
    wanted = [name for group in right for name in group]
    if sorted(names) != sorted(wanted) or len(set(names)) != len(names):
        raise ProgramError("ValueError", "the names of the two sides of a pattern must be the same, each once")
    sizes = _sizes(left, tensor.array.shape, axes_lengths)
    reshape = catalog.function("reshape")
    made = reshape(tensor, tuple(sizes[name] for name in names))
    made = catalog.function("permute")(made, tuple(names.index(name) for name in wanted))
    return reshape(made, tuple(math.prod(sizes[name] for name in group) for group in right))


TYPENAME = Routine(_typename, "typename")
IS_STORAGE = Routine(_is_storage, "is_storage")
GET_DEFAULT_DEVICE = Routine(_default_device, "get_default_device")
SET_DEFAULT_DEVICE = Routine(_set_default_device, "set_default_device")
IS_TENSOR_LIKE = Routine(_is_tensor_like, "is_tensor_like")
HANDLE_TORCH_FUNCTION = Routine(_handle_torch_function, "handle_torch_function")
HAS_TORCH_FUNCTION = Routine(_has_torch_function, "has_torch_function")
SET_DEFAULT_TENSOR_TYPE = Routine(_set_default_tensor_type, "set_default_tensor_type")
THREAD_SAFE_GENERATOR = Routine(_no_generator, "thread_safe_generator")
REARRANGE = Routine(_rearrange, "rearrange")
