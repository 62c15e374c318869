"""How activations are declared: the records of a function and of its derivative, and the forms that torch.nn.functional has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.functions.out import OutRule
from gradcli.core.functions.python_function import kernel
from gradcli.core.graph import inplace_forms
from gradcli.core.graph.namespaces import in_single
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels.elementary import in_vectors
from gradcli.core.kernels.memory_format import Layout
from gradcli.core.ops.checks import with_method
from gradcli.core.ops.operators import is_true
from gradcli.core.ops.rules import ZERO
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError

Run = Callable[..., Any]


def activation(
    name: str,
    forward: Run,
    gradient: Run,
    attrs: str = "",
    *,
    formula: str,
    note: str = "",
    second: Rule = ZERO,
    saved: tuple[str | None, str | None] = (None, None),
    computed: Mapping[str, Run] = MappingProxyType({}),
    narrow: bool = False,
    layout: Layout = "iterated",
    gradient_layout: Layout = "iterated",
    in_half: tuple[Run | None, Run | None] = (None, None),
) -> tuple[Op, Pointwise]:
    """The records `NAMEBackwardBackward0` and `NAMEBackward0` of an activation, whose derivative PyTorch gives a node of its own.

    `gradient` and `formula` are the derivative with respect to the input, `second` is that of the derivative: 0 by default.
    `gradient_layout` is the memory format of the derivative, whose operands are grad_output and input.
    `saved` are PyTorch's names of what the two records save, where they do not follow from the rules, and `computed` has functions for
    what the second saves and its rules do without.
    `in_half` computes the function and its derivative in half precision, where those round in another way.
    """
    backward: Op = Op(
        f"{name}BackwardBackward0",
        in_single(gradient),
        "grad_output input",
        attrs,
        saved=saved[1],
        layout=gradient_layout,
        in_half=in_half[1],
        jvp="backward",
        grad_output=Rule(lambda xp, grad, input, attrs: xp.call(backward, grad, input, *attrs), formula),
        input=second,
    )
    rule = Rule(lambda xp, grad, input, attrs: xp.call(backward, grad, input, *attrs), formula, note)
    named: dict[str, Any] = {"saved": saved[0], "computed": computed}
    return backward, Pointwise(
        f"{name}Backward0", forward, "input", attrs, layout=layout, narrow=narrow, in_half=in_half[0], **named, input=rule
    )


def nan_in_vectors(x: Any, step: int, grad: Any) -> Any:
    """Where an array has nan among the elements that PyTorch's vector code takes, which compares the other way round than scalar code.

    `grad` is the other operand of the operation.
    """
    x = np.asarray(x)
    found = np.isnan(x)
    return found & in_vectors(x, step, np.asarray(grad), x) if np.count_nonzero(found) else np.False_


def writing(run: Run) -> Run:
    """The in-place form of an activation: it writes what `run` computes into its input.

    PyTorch checks the memory of the input before the kernel refuses its dtype.
    """

    def write(input: Tensor, *more: Any) -> Tensor:
        try:
            return inplace_forms.apply(input, lambda t: run(t, *more))
        except ProgramError as error:
            if error.code is not Code.NO_KERNEL:
                raise
            raise inplace_forms.first_error(error, "", input, ()) from None

    return write


def functional(
    name: str,
    signature: str,
    run: Run,
    doc: str,
    op: Op | None,
    *samples: Sample,
    write: Run | None = None,
    python: str | None = None,
    calls: str = "",
    parsed_as: str = "",
    out: OutRule = False,
) -> Function:
    """The function `torch.nn.functional.NAME`; with an in-place form `write` it has the parameter `inplace`.

    `python` is the name in Python's errors for wrong calls: "" for a function that PyTorch does not wrap in Python.
    `calls` is the method of the input that PyTorch's function calls, where that makes the error for other types.
    """
    chosen = run
    if write is not None:
        forms = run, write
        checking = kernel(name, signature, run), kernel(f"{name}_", signature, write)
        signature = re.sub("Tensor|Number", "any", signature) + ", any inplace=False"

        def chosen(input: Any, *more: Any) -> Any:
            *numbers, inplace = more
            plain = type(input) is Tensor and all(type(number) in (int, float) for number in numbers)
            return (forms if plain else checking)[is_true(inplace)](input, *numbers)

    if calls:
        signature = signature.replace("Tensor input", "any input")

        def chosen(input: Any, *more: Any) -> Any:
            return run(with_method(input, calls), *more)

    return Function(
        name,
        (signature, chosen),
        doc=doc,
        ops=() if op is None else (op,),
        samples=samples,
        namespace="torch.nn.functional",
        method=False,
        python=name if python is None else python,
        parsed_as=parsed_as,
        out=out,
    )


def inplace_functions(
    name: str, signature: str, write: Run, op: Op, namespaces: Sequence[str] = ("torch.nn.functional",)
) -> list[Function]:
    """The functions `NAME_` of the namespaces."""
    return [
        Function(f"{name}_", (signature, write), doc=f"{name} in place.", ops=(op,), namespace=namespace, method=False)
        for namespace in namespaces
    ]
