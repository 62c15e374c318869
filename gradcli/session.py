"""The one facade: source in, plain results out. Commands, the prompt and tests use nothing below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcli import data, limits
from gradcli.core import dtypes, engine, printing, settings
from gradcli.core.graph import Node, state
from gradcli.core.ops.creation import from_data
from gradcli.core.tensor import Tensor, wrap
from gradcli.errors import DataError, GradcliError, Label, ProgramError
from gradcli.lang import parser, types
from gradcli.lang.interpreter import Interpreter
from gradcli.lang.syntax import Node as Place
from gradcli.limits import Limits
from gradcli.results import Array, Evaluation, GradientTable, PlainValue, Row, TensorValue, Value
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.analysis.interactive import Interactive

SCALAR_ONLY = "grad can be implicitly created only for scalar outputs"

#: LO..HI or LO..HI:N, where `...` and strings are something else
_RANGE = re.compile(r"([^'\"]*?[^'\".])\.\.([^'\".][^'\"]*?)(?::\s*([0-9]{1,9})\s*)?", re.S)
_RANGE_POINTS = 101

_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.S)
_CLOSER = re.compile(r"\s*\)")

Write = Callable[[str], None]


class Session:
    """Names and settings that expressions share.

    `write` gets what programs print, `warn` each warning as a line of text. `dtype` is the default one, "float32" or
    "float64". `bounds` are put in force at once.
    """

    def __init__(
        self,
        *,
        bounds: Limits,
        write: Write,
        warn: Write,
        read_stdin: data.ReadStdin,
        dtype: str | None = None,
        seed: int | None = None,
        precision: int | None = None,
    ) -> None:
        limits.use(bounds)
        settings.reset()
        state.enabled, state.inference, state.anomaly = True, False, False
        if dtype is not None:
            dtypes.set_default(dtypes.NAMED[dtype])
        if seed is not None:
            settings.manual_seed(seed)
        if precision is not None:
            settings.print_options.precision = precision
        self._seed = seed or 0
        self._read_stdin = read_stdin
        self._interpreter = Interpreter(write=write, warn=lambda category, message, _: warn(f"{category}: {message}"), one_off=True)
        self._variables: dict[str, Tensor] = {}
        #: the shape of what `gradient` differentiated last, also when it then failed
        self.output_shape: tuple[int, ...] = ()

    # --- names ---

    def bind(self, name: str, text: str, *, exact: bool) -> None:
        """Bind what `text` says: as a float leaf that requires grad, or (`exact`) as PyTorch reads it.

        Raises LanguageError, ProgramError, DataError, LimitError.
        """
        value, span = self._read(text, f"<value of {name}>")
        bound = value
        if not exact:
            bound = _leaf(name, value, span)
        elif _is_numbers(value):
            bound = from_data(value, None)
        if type(bound) is Tensor and bound.requires_grad and bound.is_leaf:
            self._variables[name] = bound
        self._interpreter.set(name, bound)

    def _read(self, text: str, name: str) -> tuple[Any, Span | None]:
        """The value of a word of the command line: a file, a range, an escaped string, an expression."""
        if text.startswith("\\@"):
            return text[1:], None
        if text.startswith("@"):
            return _from_file(text, self._read_stdin), None
        if interval := _RANGE.fullmatch(text):
            text = f"linspace({interval[1]}, {interval[2]}, {interval[3] or _RANGE_POINTS})"
        source = Source(name, text)
        return self._evaluate(source), _whole(source)

    # --- the prompt ---

    def interactive(self) -> Interactive:
        """The names of this session for a prompt, which runs one input after the other."""
        from gradcli.analysis.interactive import Interactive

        return Interactive(self._interpreter, self._result, self._seed)

    def _result(self, value: Any) -> Value:
        if type(value) is Tensor:
            return _shown(value)
        return PlainValue(self._plain(value), types.type_name(value), lambda: self._interpreter.text(value))

    def _evaluate(self, source: Source) -> Any:
        return self._interpreter.evaluate(parser.parse_expression(source))

    # --- answers ---

    def evaluate(self, source: Source) -> Evaluation:
        """The value of an expression. Raises LanguageError, ProgramError, LimitError."""
        value = self._evaluate(source)
        node = value.grad_fn if type(value) is Tensor else None
        requires_grad = type(value) is Tensor and value.requires_grad
        return Evaluation(source.text.strip(), self._result(value), node.type_name if node else None, requires_grad)

    def gradient(
        self, source: Source, vectors: Sequence[str], names: Sequence[str] | None = None, *, intermediates: bool = False
    ) -> GradientTable:
        """Value and gradients: one forward pass, and one backward pass for each of `vectors` (one with 1 for none).

        `names` chooses among the bound variables, None is all that require grad. Raises what `evaluate` raises.
        """
        made: list[tuple[Node, tuple[Tensor, ...]]] = []
        if intermediates:
            state.watch = made
        try:
            out = self._evaluate(source)
        finally:
            if intermediates:
                state.watch = None
        span = _whole(source)
        if type(out) is not Tensor:
            out = from_data(out, None) if _is_numbers(out) else _no_tensor(out, span)
        self.output_shape = tuple(out.array.shape)
        given = [self._weights(text, out) for text in vectors]
        variables = self._chosen(names)
        captures, found = _walk(out, given or [None], list(variables.values()), span)
        weights = given or [wrap(np.ones(out.array.shape, out.dtype.np), out.dtype)]
        node = out.grad_fn
        output = Row("out", source.text.strip(), node.type_name if node else "-", _shown(out), tuple(map(_shown, weights)))
        leaves = [
            Row(name, "leaf", "AccumulateGrad", _shown(variable), tuple(None if g is None else _shown(g) for g in gradients))
            for (name, variable), gradients in zip(variables.items(), found, strict=True)
        ]
        return GradientTable(output, tuple(_steps(made, captures, node)), tuple(leaves))

    def _chosen(self, names: Sequence[str] | None) -> dict[str, Tensor]:
        if names is None:
            return self._variables
        for name in names:
            if name not in self._variables:
                raise ProgramError("RuntimeError", "One of the differentiated Tensors does not require grad", hints=[f"{name} does not"])
        return {name: self._variables[name] for name in names}

    def _weights(self, text: str, out: Tensor) -> Tensor:
        value, span = self._read(text, "<value of -v>")
        if type(value) is Tensor:
            return wrap(dtypes.cast(value.array, out.dtype), out.dtype)
        return _at(span, lambda: from_data(value, out.dtype))

    def _plain(self, value: Any) -> object:
        """A value as JSON has it: tensors as nested lists, what has no counterpart as its text."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if type(value) is Tensor:
            return value.tolist()
        if isinstance(value, (list, tuple, range)):
            return [self._plain(item) for item in value]
        if isinstance(value, dict):
            return {key if isinstance(key, str) else self._interpreter.text(key): self._plain(item) for key, item in value.items()}
        return self._interpreter.text(value)


# --- reading values ------------------------------------------------------------------------------


def _whole(source: Source) -> Span:
    """The expression without the blanks around it."""
    text = source.text
    return Span(source, len(text) - len(text.lstrip()), len(text.rstrip()) or len(text))


def _at(span: Span | None, make: Callable[[], Tensor]) -> Tensor:
    """What `make` makes; its errors are about `span`."""
    try:
        return make()
    except GradcliError as error:
        error.span = error.span or span
        raise


def _from_file(reference: str, read_stdin: data.ReadStdin) -> Tensor:
    array = data.load(reference, read_stdin)
    try:
        return wrap(array)
    except KeyError:
        raise DataError(f"{reference[1:]}: an array of {array.dtype} is not supported") from None


def _is_numbers(value: Any) -> bool:
    """Whether `value` is a list or tuple, nested or not, of numbers alone."""
    if not isinstance(value, (list, tuple)):
        return False
    stack = [value]
    while stack:
        for item in stack.pop():
            if isinstance(item, (list, tuple)):
                stack.append(item)
            elif not isinstance(item, (bool, int, float)):
                return False
    return True


def _leaf(name: str, value: Any, span: Span | None) -> Tensor:
    """A fresh leaf of floating dtype that requires grad; only an expression that is floating already keeps its dtype."""
    if type(value) is Tensor:
        dtype = value.dtype if span is not None and value.dtype.is_floating_point else dtypes.get_default()
        leaf = wrap(np.array(dtypes.cast(value.array, dtype)), dtype)
    elif isinstance(value, (bool, int, float, list, tuple, range)):
        leaf = _at(span, lambda: from_data(value, dtypes.get_default()))
    else:
        message = f"{name}=... takes numbers, not {types.type_name(value)}"
        raise ProgramError("TypeError", message, span=span, hints=[f"{name}:=... takes any value"])
    leaf.requires_grad = True
    return leaf


def _no_tensor(value: Any, span: Span) -> Tensor:
    if isinstance(value, (bool, int, float)):
        return from_data(value, None)
    raise ProgramError("TypeError", f"a gradient needs a tensor, and this is {types.type_name(value)}", span=span)


# --- walking backward ----------------------------------------------------------------------------


def _walk(
    out: Tensor, weights: Sequence[Tensor | None], variables: Sequence[Tensor], span: Span
) -> tuple[list[engine.Capture], list[list[Tensor | None]]]:
    """For each vector what arrived at every node; for each variable its gradients."""
    captures: list[engine.Capture] = []
    found: list[list[Tensor | None]] = [[] for _ in variables]
    for i, weight in enumerate(weights):
        for variable in variables:
            variable.grad = None
        captures.append({})
        try:
            engine.backward([out], [weight], retain_graph=i + 1 < len(weights), capture=captures[-1])
        except GradcliError as error:
            _explain(error, out, span)
            raise
        for variable, gradients in zip(variables, found, strict=True):
            gradients.append(variable.grad)
    return captures, found


def _explain(error: GradcliError, out: Tensor, span: Span) -> None:
    """Say where an error of the backward walk belongs in the text, and what the output is."""
    origin = getattr(error, "backward_origin", None)
    if error.span is None:
        error.span = origin.span if isinstance(origin, Place) else span
    shape = tuple(out.array.shape)
    if error.message == SCALAR_ONLY:
        error.labels.append(Label(span, f"this has shape {shape}; backward needs one weight per element"))
    elif not out.requires_grad:
        error.labels.append(Label(span, "no variable that requires grad leads here; NAME=VALUE makes one"))


def _steps(made: list[tuple[Node, tuple[Tensor, ...]]], captures: list[engine.Capture], root: Node | None) -> list[Row]:
    """A row for each intermediate value, from the output backwards; the numbers count forwards."""
    nodes = [(node, outs) for node, outs in made if node in captures[0] and node is not root]
    rows = []
    for number, (node, outs) in reversed(list(enumerate(nodes, 1))):
        for k, tensor in enumerate(outs):
            gradients = []
            for capture in captures:
                places = capture[node]
                array = places[k] if k < len(places) else None
                gradients.append(None if array is None else _shown(wrap(array, tensor.dtype)))
            name = f"#{number}" if len(outs) == 1 else f"#{number}[{k}]"
            rows.append(Row(name, _text_of(node.origin), node.type_name, _shown(tensor), tuple(gradients)))
    return rows


def _text_of(origin: object) -> str:
    """The text that made a node, on one line. A step of a chain ends inside its right operand's parentheses: they are closed."""
    if not isinstance(origin, Place):
        return ""
    text, end = origin.source.text, origin.end
    for _ in range(_open_parentheses(origin.text)):
        closer = _CLOSER.match(text, end)
        end = end if closer is None else closer.end()
    return " ".join(text[origin.start : end].split())


def _open_parentheses(text: str) -> int:
    """How many parentheses stay open at the end of `text`, those in strings aside."""
    bare = _STRING.sub("", text)
    return bare.count("(") - bare.count(")")


# --- tensors as results --------------------------------------------------------------------------


def _shown(tensor: Tensor) -> TensorValue:
    array = np.asarray(tensor.array)  # large ones may still wait to be computed
    return TensorValue(array, tensor.dtype.name, lambda: settings.text(tensor), lambda: _cell(array, tensor.dtype.name))


def _cell(array: Array, dtype: str) -> str:
    """Torch's layout without `tensor(...)`; scientific only where a finite nonzero magnitude is below 1e-4 or from 1e6 on."""
    scientific = False
    if array.dtype.kind == "f":
        size = np.abs(array[np.isfinite(array) & (array != 0)])
        scientific = bool(size.size) and bool((size < 1e-4).any() or (size >= 1e6).any())
    options = settings.print_options.copy(sci_mode=scientific)
    return printing.values_text(array, dtype, options=options)
