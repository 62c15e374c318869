"""The value that `explain` and `graph` look at, of an expression, a script or a name of the prompt, and its explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gradcli import limits
from gradcli.analysis import missing_gradient
from gradcli.analysis.explain import explain
from gradcli.analysis.operands import assigned_names, walk
from gradcli.analysis.recorder import Recorder, present, recorded
from gradcli.core.autograd.backward import no_graph_error
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import GradcliError, Label, ProgramError, UsageError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import nodes, parser
from gradcli.lang.values.value_classes import MISSING
from gradcli.results.explanations import Explanation
from gradcli.session import input_values
from gradcli.session.gradients import locate_error
from gradcli.session.result_values import tensor_value
from gradcli.source import Source, Span


class Walks(Recorder):
    """A recorder that also keeps the tensor and the weights of the last backward pass."""

    root: Tensor | None = None
    weights: Tensor | None = None

    def began(self, tensors: Sequence[object], weights: Sequence[Tensor | None] | None) -> None:
        """A backward pass from `tensors` begins: keep the last of them and its weights, None for 1."""
        if tensors and type(tensors[-1]) is Tensor and tensors[-1].grad_fn is not None:
            self.root, self.weights = tensors[-1], weights[-1] if weights else None


class Subject:
    """A value to be explained, the text and the tree that it came from, and the recorder that was active.

    `weights` are those of the script's own backward pass from the value, None for 1.
    """

    def __init__(
        self,
        value: Tensor,
        source: Source,
        tree: nodes.Node | None,
        recorder: Recorder,
        weights: Tensor | None = None,
        span: Span | None = None,
    ) -> None:
        self.value = value
        self.source = source
        self.tree = tree
        self.recorder = recorder
        self.weights = weights
        #: where the value is in the text
        self.span = span or input_values.whole(source)


def subject(interpreter: Interpreter, source: Source | str, of: str | None, script: bool = False) -> Subject:
    """Run an expression or, with `of` or `script`, a script. A string, in place of a source, may be a name that is bound already.

    The value is that of the expression; of a script that of the name `of`; without `of` the tensor of the last `backward()`, else
    the newest with a graph. Raises LanguageError, ProgramError, LimitError, UsageError.
    """
    recorder = present()
    if isinstance(source, str):
        value = interpreter.get(source.strip())
        source = Source("<expression>", source)
        if value is not MISSING:
            return Subject(_tensor(value, source), source, None, recorder)
    if of is None and not script:
        tree = parser.parse_expression(source)
        with recorded(recorder):
            value = interpreter.evaluate(tree)
        return Subject(input_values.as_tensor(value, input_values.whole(source)), source, tree, recorder)
    program = parser.parse_file(source)
    walks = Walks()
    with recorded(walks):
        interpreter.run_file(program)
    if of is None and walks.root is not None:
        return Subject(walks.root, source, program, walks, walks.weights)
    if of is None and (of := newest(interpreter)) is None:
        raise UsageError("no name of the script has a value with a graph, and it calls no backward()")
    value = interpreter.get(of)
    if value is MISSING:
        raise UsageError(f"--of {of}: the script has no such name; it has {', '.join(interpreter.names()) or 'none'}")
    place = _assignment(of, program)
    if type(value) is Tensor and value.is_leaf and value.requires_grad and value.array.size != 1:
        hints = [f"without --of it is what backward() was called on, and shows how {of}.grad came"]
        raise UsageError(f"--of {of}: {of} is a leaf, nothing made it", span=place, hints=hints)
    return Subject(_tensor(value, source), source, program, walks, walks.weights if value is walks.root else None, place)


def _assignment(name: str, program: nodes.Node) -> Span | None:
    """Where a program last assigns to a name."""
    places = [
        target.span
        for node in walk(program)
        if isinstance(node, nodes.Assign)
        for target in node.targets
        if isinstance(target, nodes.Name) and target.id == name
    ]
    return places[-1] if places else None


def newest(interpreter: Interpreter) -> str | None:
    """The name of the newest tensor with a graph; tensors of one element come before others. None for none."""
    found = [
        (value.array.size == 1, value.grad_fn.sequence, name)
        for name, value in interpreter.variables.items()
        if type(value) is Tensor and value.grad_fn is not None
    ]
    return max(found)[2] if found else None


def _tensor(value: object, source: Source) -> Tensor:
    if type(value) is Tensor:
        return value
    return input_values.as_tensor(value, input_values.whole(source))


@limits.evaluating
def explanation(
    found: Subject,
    variables: Mapping[str, object],
    weigh: Callable[[Tensor], Tensor | None],
    *,
    full: bool,
    gradients: bool,
    drawn: bool,
    strict: bool,
) -> Explanation:
    """The steps behind the value, with notes on missing gradients unless they are to be `drawn`.

    `weigh` gives the weights of the backward pass. A value of several elements without weights has no gradients; with `strict` it is
    an error. Raises ProgramError, LimitError.
    """
    span = found.span
    out = found.value
    if not out.requires_grad:
        raise _without_graph(found, variables)
    weight = weigh(out)
    notes: tuple[str, ...] = ()
    if not strict and gradients and weight is None and out.array.size != 1:
        gradients = False
        notes = (f"no gradients: the result has shape {tuple(out.array.shape)}, and backward needs weights (-v)",)
    assigned = {} if found.tree is None else assigned_names(found.tree)
    text = found.source.text.strip()
    try:
        told = explain(out, weight, found.recorder, variables, assigned, text, tensor_value, full=full, gradients=gradients)
    except GradcliError as error:
        locate_error(error, out, span, weight)
        raise
    if gradients and not drawn:
        notes += missing_gradient.reasons(told, variables, found.tree, out)
    return told.replace(notes=told.notes + notes)


def _without_graph(found: Subject, variables: Mapping[str, object]) -> ProgramError:
    """The error for a value without a graph, with the reason for each variable."""
    span = found.span
    error = no_graph_error()
    error.span = span
    for name, value in variables.items():
        if type(value) is not Tensor or value is found.value:
            continue
        place = missing_gradient.cut(name, found.tree) if found.tree is not None and value.requires_grad else None
        if place is not None:
            error.span = place
            error.labels.append(Label(place, f"{name} is cut off here"))
        else:
            error.hints.append(f"{name}: {missing_gradient.reason_for(name, value, {}, found.tree)}")
    if not error.labels and not error.hints:
        error.labels.append(Label(span, "no variable that requires grad leads here; NAME=VALUE makes one"))
    return error
