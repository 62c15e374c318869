"""The examples of the reference, run as if they were typed: pairs of what is typed and what is printed. Nothing of a run stays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from gradcli import limits
from gradcli.analysis.reference import examples
from gradcli.core.autograd import backward
from gradcli.core.functions import catalog
from gradcli.core.functions._index import FUNCTIONS
from gradcli.core.functions.function import InplaceFunction, Sample
from gradcli.core.ops.create.from_data import from_data
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.core.vocabulary import library
from gradcli.core.vocabulary.session_state import SessionState
from gradcli.errors import GradcliError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.source import Source

Example = tuple[tuple[str, str], ...]


def example_of(name: str) -> Example:
    """The example of an entry of the reference, by its full name: of a function the first of its samples that runs.

    Raises what the example raises.
    """
    bare = name.removeprefix("torch.")
    function = catalog.method(bare[7:]) if bare.startswith("Tensor.") else catalog.function(bare) if bare in FUNCTIONS else None
    if isinstance(function, InplaceFunction):
        function = function.of
    if function is not None:
        return of_samples(function.samples) or of_lines(examples.lines(bare))
    if bare in library.PLACES:
        return of_lines(examples.lines(bare))
    return of_lines((f"tensor([1, 2], dtype={name})" if isinstance(library.find(bare), dtypes.DType) else name,))


def of_samples(samples: Iterable[Sample]) -> Example:
    """The first sample that runs: its inputs, its value and, where there is one, the gradient of its sum; () for none."""
    for sample in samples:
        try:
            with _fresh() as interpreter:
                return tuple(_sample_lines(sample, interpreter))
        except GradcliError:
            continue
    return ()


def of_lines(lines: tuple[str, ...]) -> Example:
    """Lines as at the prompt, with what each prints. Raises what they raise."""
    with _fresh() as interpreter:
        return tuple((line, _entered(interpreter, line)) for line in lines)


@contextmanager
def _fresh() -> Iterator[Interpreter]:
    """An interpreter with the state of a new session."""
    with SessionState(limits.current):
        yield Interpreter(write=_nothing, warn=_nothing, one_off=True)


def _nothing(*message: object) -> None:
    """Examples print nothing, and their warnings are not shown."""


def _entered(interpreter: Interpreter, line: str) -> str:
    value = interpreter.execute_input(parser.parse_input(Source("<example>", line)))
    return "" if value is None else interpreter.text(value)


def _sample_lines(sample: Sample, interpreter: Interpreter) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for name, given in sample.inputs.items():
        leaf = from_data(np.asarray(given, np.float32).tolist(), dtypes.float32)
        leaf.requires_grad = True
        interpreter.set(name, leaf)
        text = interpreter.text(leaf).removeprefix("tensor(")
        lines.append((f"{name} = tensor({' '.join(text.split())}", ""))
    value = interpreter.evaluate(parser.parse_expression(Source("<example>", sample.text)))
    lines.append((sample.text, interpreter.text(value)))
    if type(value) is Tensor and value.requires_grad and sample.inputs:
        call = _scalar(sample.text, value, [interpreter.get(name) for name in sample.inputs])
        backward.backward([interpreter.evaluate(parser.parse_expression(Source("<example>", call)))], [None])
        lines.append((f"{call}.backward()", ""))
        lines += [(f"{name}.grad", interpreter.text(interpreter.get(name).grad)) for name in sample.inputs]
    return lines


def _scalar(text: str, value: Tensor, leaves: list[Tensor]) -> str:
    """The text of a number made of `value`: its sum, of squares where the sum itself does not depend on the leaves, as softmax's."""
    if value.array.size == 1:
        return text
    call = text if re.fullmatch(r"[\w.]+\([^()]*\)", text) else f"({text})"
    ones = wrap(np.ones(value.array.shape, value.dtype.np), value.dtype)
    slopes = backward.grad([value], leaves, [ones], retain_graph=True, allow_unused=True)
    vanishes = all(slope is None or np.abs(slope.array).max(initial=0.0) < 1e-5 for slope in slopes)
    return f"{call}.square().sum()" if vanishes else f"{call}.sum()"
