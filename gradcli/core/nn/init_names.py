"""`nn.init`: the names without an underscore, which are deprecated, and kernels that leave images as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcli.core.calling import warnings
from gradcli.core.calling.script_types import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.kernels import blocks
from gradcli.core.nn import init
from gradcli.core.optim.optimizer import written
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError


def dirac_(tensor: Any, groups: Any = 1) -> Tensor:
    """Kernels with a 1 in the middle of their own channel, so that a convolution gives the input back."""
    if type(tensor) is not Tensor:
        raise no_attribute(tensor, "ndimension")
    shape = tensor.array.shape
    if len(shape) not in (3, 4, 5):
        raise ProgramError("ValueError", "Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ProgramError("ValueError", "dim 0 must be divisible by groups")
    made = np.zeros(shape, tensor.dtype.np)
    each = shape[0] // groups
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for channel in range(min(each, shape[1])):
            made[(group * each + channel, channel, *middle)] = 1
    blocks.settle()
    tensor.array[...] = made
    written(tensor)
    return tensor


def _old(name: str, run: Callable[..., Any]) -> Routine:
    def warned(*args: Any, **kwargs: Any) -> Any:
        """The deprecated name of the function with an underscore."""
        warnings.emit(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", "FutureWarning")
        return Routine(run)(*args, **kwargs)

    return Routine(warned, name)


DIRAC_ = Routine(dirac_)
UNIFORM = _old("uniform", init.uniform_)
NORMAL = _old("normal", init.normal_)
CONSTANT = _old("constant", init.constant_)
EYE = _old("eye", init.eye_)
DIRAC = _old("dirac", dirac_)
XAVIER_UNIFORM = _old("xavier_uniform", init.xavier_uniform_)
XAVIER_NORMAL = _old("xavier_normal", init.xavier_normal_)
KAIMING_UNIFORM = _old("kaiming_uniform", init.kaiming_uniform_)
KAIMING_NORMAL = _old("kaiming_normal", init.kaiming_normal_)
ORTHOGONAL = _old("orthogonal", init.orthogonal_)
SPARSE = _old("sparse", init.sparse_)
