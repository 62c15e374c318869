"""torch.autograd.gradcheck and gradgradcheck: gradients by rule against central differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcli.core.autograd import backward as engine
from gradcli.core.autograd.tensor_state import set_requires_grad
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.type_errors import no_attribute
from gradcli.core.functions import catalog
from gradcli.core.kernels import Array
from gradcli.core.ops.elementwise.complex_numbers import VIEW_AS_REAL
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.tensor.text import formatted
from gradcli.core.transforms.gradcheck_jacobians import (
    Directions,
    backward_jacobians,
    backward_products,
    forward_jacobians,
    forward_products,
    numeric_jacobians,
    numeric_products,
    tracked,
    tracked_positions,
)
from gradcli.core.transforms.user_functions import call
from gradcli.errors import ProgramError, shape_error


def _tensors(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _failure(text: str) -> ProgramError:
    return ProgramError("GradcheckError", text)


def gradcheck(
    func: Any,
    inputs: Any,
    *,
    eps: Any = 1e-6,
    atol: Any = 1e-5,
    rtol: Any = 1e-3,
    raise_exception: Any = True,
    nondet_tol: Any = 0.0,
    check_undefined_grad: Any = True,
    check_grad_dtypes: Any = False,
    check_batched_grad: Any = False,
    check_batched_forward_grad: Any = False,
    check_forward_ad: Any = False,
    check_backward_ad: Any = True,
    fast_mode: Any = False,
    masked: Any = None,
) -> bool:
    """Compare the gradients of `func` with central differences: True, or a GradcheckError that shows both Jacobians.

    `fast_mode` compares one number for each pair of input and output, in random directions. Batched gradients have no
    second implementation here that could differ: the passes run, and draw PyTorch's random numbers.
    """
    if not (check_forward_ad or check_backward_ad):
        raise ProgramError("AssertionError", "Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise ProgramError("AssertionError", "Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ProgramError("AssertionError", "Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    try:
        check = Check(func, _tensors(inputs), eps, atol, rtol, nondet_tol)
        if check_backward_ad:
            check.backward(bool(fast_mode))
        if check_forward_ad:
            check.forward(bool(fast_mode))
        if check_backward_ad:
            check.zeros(bool(check_batched_grad), bool(check_undefined_grad))
    except ProgramError as error:
        if raise_exception or error.type_name != "GradcheckError":
            raise
        return False
    return True


class Check:
    """One call of gradcheck: the function, its inputs and what it returned for them."""

    __slots__ = ("func", "inputs", "eps", "atol", "rtol", "nondet_tol", "results", "outputs", "sources")

    def __init__(self, func: Any, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float) -> None:
        _check_inputs(inputs)
        self.results = _outputs(func, inputs)
        if any(type(value) is Tensor and value.dtype.is_complex for value in (*inputs, *self.results)):
            func, inputs = _of_parts(func, inputs)
            self.results = _outputs(func, inputs)
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.outputs = tracked(self.results)
        self.sources = tracked(inputs)

    def outputs_of(self, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
        """What the function returns for other inputs."""
        return _outputs(self.func, inputs)

    def _numeric(self, fast: bool = False) -> list[list[Array]]:
        """The transposed Jacobians of the outputs that require grad. Where no output does, all Jacobians must be zero.

        Those of integers count in fast mode alone.
        """
        numeric = numeric_jacobians(self.outputs_of, self.inputs, self.results, self.eps)
        rows = (row for result, row in zip(self.results, numeric, strict=True) if fast or result.dtype.is_differentiable)
        if not self.outputs and any(np.any(block) for row in rows for block in row):
            raise _failure("Numerical gradient for function expected to be zero")
        return [row for result, row in zip(self.results, numeric, strict=True) if result.requires_grad]

    def backward(self, fast: bool) -> None:
        """Compare with backward passes."""
        if fast and self.outputs:
            directions = Directions(self.inputs, self.outputs, False)
            numeric = numeric_products(self.outputs_of, self.inputs, directions, self.eps)
            analytic = backward_products(self.inputs, self.outputs, directions)
            for again in zip(analytic, backward_products(self.inputs, self.outputs, directions), strict=True):
                _check_repeated(*again, self.nondet_tol)
            self._compare_fast(numeric, analytic, directions, False)
            return
        for i, (output, row) in enumerate(zip(self.outputs, self._numeric(fast), strict=True)):
            for j, (a, n) in enumerate(zip(_analytic(output, self.sources, self.nondet_tol), row, strict=True)):
                if not _close(a, n, self.rtol, self.atol):
                    raise _failure(_mismatch(i, j, self._text(n, output), self._text(a, self.sources[j]), False))

    def zeros(self, batched: bool, undefined: bool) -> None:
        """Check that gradients of zeros give zeros. PyTorch walks the graph again where a gradient is undefined: as for zeros here."""
        for output in self.outputs if batched else ():
            vectors = [catalog.function("randn_like")(output) for _ in range(2)]
            for vector in (*vectors, vectors[0]):  # two of them one by one, and once in a batch
                engine.grad([output], self.sources, [vector], retain_graph=True, allow_unused=True)
        _check_zero(self.outputs, self.sources)
        rounds = (1 if len(self.outputs) == 1 else 1 + len(self.outputs)) if undefined else 0
        for outputs in [tracked(self.outputs_of(self.inputs)) for _ in range(rounds)]:
            _check_zero(outputs, self.sources)

    def forward(self, fast: bool) -> None:
        """Compare with forward mode."""
        if fast and self.outputs:
            directions = Directions(self.inputs, self.outputs, True)
            numeric = numeric_products(self.outputs_of, self.inputs, directions, self.eps)
            self._compare_fast(numeric, forward_products(self.outputs_of, self.inputs, directions), directions, True)
            return
        rows = self._numeric(fast)
        analytic = forward_jacobians(self.outputs_of, self.inputs) if self.outputs else []
        for i, (output, row) in enumerate(zip(self.outputs, rows, strict=True)):
            for j, n in enumerate(row):
                a = analytic[j][i]
                if not _close(a, n, self.rtol, self.atol):
                    raise _failure(_mismatch(i, j, self._text(n, output), self._text(a, output), True))

    def _compare_fast(self, numeric: list[list[Array]], analytic: list[list[Array]], directions: Directions, forward: bool) -> None:
        for i, row in enumerate(numeric):
            for j, n in enumerate(row):
                a = analytic[i][j]
                if not _close(a, n, self.rtol, directions.tolerance(self.atol, i, j)):
                    output = self.outputs[j]
                    start = _mismatch(j, i, self._text(n, output), self._text(a, output), forward)
                    raise _failure(start + self._slowly(i, j, forward))

    def _slowly(self, i: int, j: int, forward: bool) -> str:
        """The whole Jacobians of input i and output j, which the error of fast mode shows, too."""
        output = self.outputs[j]
        n = self._numeric()[j][i]
        a = forward_jacobians(self.outputs_of, self.inputs)[i][j] if forward else _analytic(output, self.sources, np.inf)[i]
        largest = Tensor(np.asarray(np.abs(n - a).max()), output.dtype)
        told = _SLOWLY.format(self._text(n, output), self._text(a, output), formatted(largest))
        return told + (_SLOW_IS_FINE if _close(a, n, self.rtol, self.atol) else "")

    @staticmethod
    def _text(values: Array, like: Tensor) -> str:
        """Numbers as an f-string shows a tensor of them."""
        return formatted(Tensor(np.asarray(values), like.dtype))


def _close(a: Array, n: Array, rtol: float, atol: float) -> bool:
    common = np.promote_types(a.dtype, n.dtype)
    return bool(np.allclose(a.astype(common), n.astype(common), rtol, atol))


def _mismatch(output: int, source: int, numerical: str, analytical: str, forward: bool) -> str:
    mode = "computed with forward mode " if forward else ""
    return f"Jacobian {mode}mismatch for output {output} with respect to input {source},\nnumerical:{numerical}\nanalytical:{analytical}\n"


_SLOWLY = """
The above quantities relating the numerical and analytical jacobians are computed \nin fast mode. \
See: https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. \
Below, we recompute numerical and analytical jacobians in slow mode:

Numerical:
 {}
Analytical:
{}

The max per-element difference (slow mode) is: {}.
"""
_SLOW_IS_FINE = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`"""


def _outputs(func: Any, inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    """What the function returns, as a tuple of tensors."""
    results = _tensors(call(func, inputs))
    for result in results:
        if type(result) is not Tensor:
            raise no_attribute(result, "requires_grad")
    return results


def _of_parts(func: Any, inputs: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The function of complex tensors as one of real and imaginary parts, which both have derivatives, and its inputs."""
    places = [i for i, value in enumerate(inputs) if type(value) is Tensor and value.dtype.is_complex]
    parts = list(inputs)
    for i in places:
        parts[i] = Tensor(np.stack([inputs[i].array.real, inputs[i].array.imag], -1), inputs[i].dtype.real)
        parts[i].requires_grad = inputs[i].requires_grad

    def run(*args: Any) -> tuple[Tensor, ...]:
        joined = catalog.function("view_as_complex")
        results = _outputs(func, [joined(value) if i in places else value for i, value in enumerate(args)])
        return tuple(VIEW_AS_REAL(result) if result.dtype.is_complex else result for result in results)

    return run, tuple(parts)


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    for i, tensor in enumerate(inputs):
        if type(tensor) is not Tensor or not tensor.requires_grad:
            continue
        if tensor.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.emit(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely "
                "fail if all the inputs are not of double precision floating point or complex. ",
                inside="gradcheck",
            )
        if any(stride == 0 and size > 1 for stride, size in zip(tensor.array.strides, tensor.array.shape, strict=True)):
            raise shape_error(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
                "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
                "gradcheck.",
            )
    if not tracked(inputs):
        raise ProgramError(
            "ValueError",
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
        )


def _analytic(output: Tensor, sources: list[Tensor], nondet_tol: float) -> list[Array]:
    """The transposed Jacobians of one output by backward passes. They run twice, and raise where the two disagree."""
    first = backward_jacobians(output, sources)
    _check_repeated(first, backward_jacobians(output, sources), nondet_tol)
    return first


def _check_repeated(first: list[Array], second: list[Array], nondet_tol: float) -> None:
    for a, b in zip(first, second, strict=True):
        if a.size and np.abs(a - b).max() > nondet_tol:
            raise _failure(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was "
                f"{nondet_tol}.{_NONDETERMINISTIC}"
            )


_NONDETERMINISTIC = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""


def _check_zero(outputs: list[Tensor], sources: list[Tensor]) -> None:
    """Check that gradients of zeros for the outputs give zeros for the inputs. 0 * inf would give nan."""
    if not outputs:
        return
    found = engine.grad(outputs, sources, list(map(zeros_like, outputs)), allow_unused=True)
    if any(g is not None and not (g.array == 0).all() for g in found):
        raise _failure("backward not multiplied by grad_output")


def gradgradcheck(
    func: Any,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: Any = 1e-6,
    atol: Any = 1e-5,
    rtol: Any = 1e-3,
    gen_non_contig_grad_outputs: Any = False,
    raise_exception: Any = True,
    nondet_tol: Any = 0.0,
    check_undefined_grad: Any = True,
    check_grad_dtypes: Any = False,
    check_batched_grad: Any = False,
    check_fwd_over_rev: Any = False,
    check_rev_over_rev: Any = True,
    fast_mode: Any = False,
    masked: Any = False,
) -> bool:
    """`gradcheck` of the gradient, as a function of the inputs and of the gradients of the outputs.

    Without `grad_outputs` these are drawn uniformly from [-1, 1) by the default generator.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise ProgramError("AssertionError", "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for wanted_check, name in ((check_undefined_grad, "check_undefined_grad"), (check_batched_grad, "check_batched_grad")):
        if wanted_check and not check_rev_over_rev:
            raise ProgramError("AssertionError", f"Setting {name}=True requires check_rev_over_rev to be True")
    given = _tensors(inputs)
    vectors = tuple(_drawn(o) for o in tracked(_outputs(func, given))) if grad_outputs is None else _tensors(grad_outputs)
    count = len(vectors)
    wanted = tracked_positions(given)
    leaves = tracked_positions(given + vectors)

    def gradient(*args: Any) -> tuple[Tensor, ...]:
        for k in leaves:  # dual tensors come without requiring grad
            set_requires_grad(args[k], True)
        points, v = args[:-count], args[-count:]  # of functions whose outputs have no gradients these are no points, as in PyTorch
        outputs = tracked(_outputs(func, points))
        found = engine.grad(outputs, [points[k] for k in wanted], v, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient,
        given + vectors,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        fast_mode=fast_mode,
        check_undefined_grad=check_undefined_grad,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _drawn(output: Tensor) -> Tensor:
    """A random gradient for an output."""
    made = zeros_like(output)
    catalog.method("uniform_").method(made, (-1, 1), {})
    set_requires_grad(made, True)
    return made


GRADCHECK = Routine(gradcheck)
GRADGRADCHECK = Routine(gradgradcheck)
