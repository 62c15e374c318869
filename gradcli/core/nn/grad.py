"""`torch.nn.grad`: the gradients of convolutions by input and weight, from the gradient of the output."""

from __future__ import annotations

from typing import Any

from gradcli import limits
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.graph.record import Op
from gradcli.core.ops.create.leaf import empty
from gradcli.core.ops.layers.convolution import output_shape
from gradcli.core.ops.layers.convolution_checks import check_settings, check_shapes, checked_count
from gradcli.core.ops.layers.convolution_records import INPUT_GRADIENT, WEIGHT_GRADIENT, Settings
from gradcli.core.ops.shape.broadcasting import expand
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error


def _sized(grad_output: Any, size: Any) -> Tensor:
    """A tensor of a size, whose elements do not count."""
    if not isinstance(grad_output, Tensor):
        raise no_attribute(grad_output, "new_empty")
    return expand(empty((1,), grad_output.dtype), _whole("size", size))


def _whole(name: str, values: Any) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or any(type(value) is not int for value in values):
        raise ProgramError("NotImplementedError", f"{name} other than whole numbers in a tuple or a list is not part of gradcli here")
    return tuple(values)


def _gradient(op: Op, rank: int, grad_output: Tensor, input: Tensor, weight: Tensor, *settings: Any) -> Any:
    """What a record of `convolution` gives. Raises RuntimeError for shapes that do not fit, which PyTorch does not check."""
    if type(input) is not Tensor or type(weight) is not Tensor or any(t.array.ndim != rank + 2 for t in (grad_output, input, weight)):
        raise ProgramError("NotImplementedError", f"this gradient of anything but tensors of {rank + 2} dimensions is not part of gradcli")
    for tensor in (input, weight):
        if tensor.dtype is not grad_output.dtype:
            raise runtime_error(f"expected scalar type {grad_output.dtype.torch_name} but found {tensor.dtype.torch_name}")
    *sizes, groups = settings
    stride, padding, dilation = ((value,) * rank if type(value) is int else _whole("a setting", value) for value in sizes)
    (groups,) = _whole("groups", (groups,))
    if groups <= 0:
        raise runtime_error(f"expected groups to be greater than 0, but got groups={groups}")
    steps, border, gaps, extra = (
        checked_count(name, value, rank)
        for name, value in {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": (0,)}.items()
    )
    check_settings(steps, border, gaps, extra, groups)
    check_shapes(input, weight, None, False, groups)
    if grad_output.array.shape != output_shape(input, weight, Settings(steps, border, gaps, False, extra, groups)):
        raise runtime_error("the gradient of a convolution from one of another shape than its output is not part of gradcli")
    limits.check_elements(max(input.array.size, weight.array.size), input.dtype.itemsize)
    return op(grad_output, input, weight, stride, padding, dilation, False, (0,) * rank, groups)


def _by_input(rank: int) -> Routine:
    def run(input_size: Any, weight: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Any:
        """The gradient of a convolution by its input."""
        return _gradient(INPUT_GRADIENT, rank, grad_output, _sized(grad_output, input_size), weight, stride, padding, dilation, groups)

    return Routine(run, f"conv{rank}d_input")


def _by_weight(rank: int) -> Routine:
    def run(input: Any, weight_size: Any, grad_output: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1) -> Any:
        """The gradient of a convolution by its weight."""
        return _gradient(WEIGHT_GRADIENT, rank, grad_output, input, _sized(grad_output, weight_size), stride, padding, dilation, groups)

    return Routine(run, f"conv{rank}d_weight")


conv1d_input, conv2d_input, conv3d_input = (_by_input(rank) for rank in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_by_weight(rank) for rank in (1, 2, 3))
