"""The one facade: source text in, plain results out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gradcli import data
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.node import Node
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.vocabulary.session_state import SessionState, in_force
from gradcli.errors import LanguageError, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import Program
from gradcli.lang.values.execution import Outside
from gradcli.limits import Limits
from gradcli.results.values import Evaluation, TensorValue, Value
from gradcli.session import input_values
from gradcli.session.bindings import Bindings
from gradcli.session.gradients import arrived, gradient_table, gradients
from gradcli.session.input_values import Files, Numbers
from gradcli.session.repairing import repairing
from gradcli.session.result_values import result_value, tensor_value
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.results.checks import CheckResult
    from gradcli.results.derivatives import Derivatives, Gradients, GradientTable, Minimum
    from gradcli.results.explanations import Explanation
    from gradcli.results.plots import Curves, HeatMap
    from gradcli.results.reports import Report
    from gradcli.session.by_rows import ByRows
    from gradcli.session.interactive import Interactive

Write = Callable[[str], None]
#: which text of a value is wanted
Text = Literal["repr", "str", ""]
#: a warning's category, text and place
Warn = Callable[[str, str, "Span | None"], None]


def _drawing(outside: Outside | None) -> Outside | None:
    """What a session has outside, with figures handed on as plain results."""
    if outside is None or outside.draw is None:
        return outside
    draw = outside.draw

    def run(figure: object, name: str | None) -> str:
        from gradcli.session import figures

        return draw(figures.picture(figure), name)

    return Outside(outside.write_error, outside.progress, run, outside.files)


class Session:
    """Names and settings that expressions and scripts share.

    `write` gets what programs print, `warn` each warning. `dtype` is the default one, "float32" or "float64". `bounds`
    are the limits of what it runs, `tables` says how tables in files are read, `outside` has standard error and what draws figures,
    `held` is the memory that the process holds, in bytes, None to measure it.
    All that it can change is in force during its own methods only.
    """

    def __init__(
        self,
        *,
        bounds: Limits,
        write: Write,
        warn: Warn,
        read_stdin: data.ReadStdin,
        dtype: str | None = None,
        seed: int | None = None,
        precision: int | None = None,
        tables: data.Form = data.ORDINARY,
        outside: Outside | None = None,
        held: int | None = None,
    ) -> None:
        chosen = dtypes.float32 if dtype is None else dtypes.NAMED[dtype]
        self.state = SessionState(bounds, dtype=chosen, seed=seed or 0, precision=precision, held=held)
        self._seed = seed or 0
        self._read_stdin = read_stdin
        self._warn = warn
        self._interpreter = Interpreter(write=write, warn=warn, one_off=True, warned=self.state.warned, outside=_drawing(outside))
        self._names = Bindings(self._interpreter, Files(read_stdin, tables, warn))

    # --- names ---

    @in_force
    @repairing()
    def bind(self, name: str, text: str, *, exact: bool) -> None:
        """Bind what `text` says: as a float leaf that requires grad, or (`exact`) as PyTorch reads it.

        Raises LanguageError, ProgramError, DataError, LimitError.
        """
        self._names.bind(name, text, exact=exact)

    @in_force
    def bind_data(self, name: str, value: Numbers | str) -> None:
        """Bind numbers, or the text of an expression, as a float leaf that requires grad. Raises what `bind` raises."""
        self._names.bind_data(name, value)

    @in_force
    @repairing()
    def bind_range(self, name: str, text: str) -> bool:
        """Bind a point of LO..HI or LO..HI:N, and remember it for `plot`; False for what is no range. Raises what `bind` raises."""
        return self._names.bind_range(name, text)

    @property
    def variables(self) -> list[str]:
        """The names to differentiate by: bound tensors that require grad and are leaves."""
        return list(self._names.variables)

    @in_force
    def differentiate_by_named(self, text: str, *, copied: bool = False, double: bool = False) -> None:
        """Let the program's leaves that stand in `text` be the variables; forget the ranges.

        With `copied` the names are bound to copies, in float64 where `double`: do so within a block that puts names back. Raises
        UsageError.
        """
        from gradcli.session import named_leaves

        variables = self._interpreter.variables
        self._names.ranges.clear()
        if copied:
            for name, value in named_leaves.copies(text, variables, double=double).items():
                self._interpreter.set(name, value)
        if double:
            dtypes.set_default(dtypes.float64)
        self._names.variables = named_leaves.named_leaves(text, variables)

    @property
    def ranges(self) -> list[str]:
        """The names that `bind_range` has bound."""
        return list(self._names.ranges)

    # --- scripts ---

    @in_force
    def read_source(self, name: str) -> str:
        """The text of a program file. Raises DataError, LimitError."""
        return data.read_source(name, self._read_stdin)

    @in_force
    def run(self, source: Source, *, reuse: bool = False) -> None:
        """Run a script, which is parsed whole before; with `reuse` its tree is kept for other sessions with the same script.

        Lines of IPython's (`%magic`, `!command`) are left out, with a note. Raises LanguageError, ProgramError, LimitError.
        """
        self._interpreter.run_file(self._parsed(source, reuse))

    @in_force
    def run_cell(self, source: Source) -> str | None:
        """Run a cell of a notebook; the repr of its last expression, None where there is none. Raises what `run` raises."""
        value = self._interpreter.run_cell(self._parsed(source, False))
        return None if value is None else self._interpreter.text(value)

    def _parsed(self, source: Source, reuse: bool) -> Program:
        try:
            return parser.parse_file(source, reuse=reuse)
        except LanguageError:
            # text that is Python never changes
            from gradcli.data import notebooks

            text, left_out = notebooks.without_magics(source.text)
            if not left_out:
                raise
            program = parser.parse_file(Source(source.name, text))
            for line in left_out:
                self._warn("Note", f"{source.name}: left out, because it is IPython's: {line}", None)
            return program

    def interactive(self) -> Interactive:
        """The names of this session for a prompt, which runs one input after the other."""
        from gradcli.session.interactive import Interactive

        return Interactive(self._interpreter, self.state, self._seed)

    # --- values and derivatives ---

    @in_force
    @repairing()
    def evaluate(self, source: Source, text: Text = "repr") -> Evaluation:
        """The value of an expression. `text` says which text a value that is no tensor gets: its repr, its str where it is a string
        (for others the repr), or none. Raises LanguageError, ProgramError, LimitError.
        """
        return self._evaluation(source, self._names.evaluate(source), text)

    def _evaluation(self, source: Source, value: object, text: Text) -> Evaluation:
        if type(value) is Tensor:
            node = value.grad_fn
            return Evaluation(source.text.strip(), tensor_value(value), None if node is None else node.type_name, value.requires_grad)
        shown = self._interpreter.text if text == "repr" or (text and not isinstance(value, str)) else str if text else None
        return Evaluation(source.text.strip(), result_value(value, self._interpreter.text, shown), None, False)

    @in_force
    @repairing()
    def gradient(
        self, source: Source, vectors: Sequence[str], names: Sequence[str] | None = None, *, intermediates: bool = False
    ) -> GradientTable:
        """Value and gradients: one forward pass, and one backward pass for each of `vectors` (one with 1 for none).

        `names` chooses among the bound variables, None is all that require grad. Raises what `evaluate` raises.
        """
        made: list[tuple[Node, tuple[Tensor, ...]]] = []
        before = state.watch, state.observed
        try:
            if intermediates:
                state.set_watch(made)
            out, span = self._names.tensor(source)
        finally:
            state.watch, state.observed = before
        weights = [self._names.weights(text, out) for text in vectors]
        return gradient_table(source, span, out, weights, self._names.chosen(names), made)

    @in_force
    @repairing()
    def jacobian(self, source: Source, names: Sequence[str] | None = None) -> Derivatives:
        """All first derivatives of an expression by the variables. Raises what `evaluate` raises."""
        from gradcli.session import derivatives

        out, span = self._names.tensor(source)
        return derivatives.jacobian_result(source, span, out, self._names.chosen(names))

    @in_force
    @repairing()
    def hessian(self, source: Source, names: Sequence[str] | None = None, *, with_gradient: bool = False) -> Derivatives:
        """All second derivatives of an expression with one value. Raises what `evaluate` raises."""
        from gradcli.session import derivatives

        out, span = self._names.tensor(source)
        return derivatives.hessian_result(source, span, out, self._names.chosen(names), with_gradient)

    @in_force
    def several(
        self, source: Source, names: Sequence[str] | None, vector: Numbers | str | None, *, gradient: bool, jacobian: bool, hessian: bool
    ) -> tuple[Value, str | None, Gradients | None, Derivatives | None, Derivatives | None]:
        """Value, name of its node, gradient, Jacobian and Hessian of one evaluation, what is wanted of them.

        `vector` are weights, numbers or the text of an expression; None is for a result that is one number. The value has no
        text. Raises what `evaluate` raises.
        """
        span = input_values.whole(source)

        def walk(value: Any) -> Gradients:
            return gradients(input_values.as_tensor(value, span), None, self._names.chosen(names), span)

        alone = gradient and vector is None and not (jacobian or hessian)
        alone = alone and all(variable.grad is None for variable in self._names.variables.values())
        value = self._names.evaluate_and_walk(source, walk) if alone else self._names.evaluate(source)
        if type(value) is Tensor:
            node = value.grad_fn
            found: Value = TensorValue(np.asarray(value.array), value.dtype.name)
        else:
            node = None
            found = result_value(value, self._interpreter.text, None)
        grad_fn = None if node is None else node.type_name
        if not (gradient or jacobian or hessian):
            return found, grad_fn, None, None, None
        if alone:
            return found, grad_fn, arrived(self._names.chosen(names)), None, None
        out = input_values.as_tensor(value, span)
        weights = None
        if gradient and vector is not None:
            given = self._names.evaluate(Source("<vector>", vector)) if isinstance(vector, str) else vector
            weights = input_values.weights(given, out, None)
        variables = self._names.chosen(names)
        first = second = None
        if jacobian or hessian:
            from gradcli.session import derivatives

            first = derivatives.jacobian_result(source, span, out, variables) if jacobian else None
            second = derivatives.hessian_result(source, span, out, variables) if hessian else None
        # last, as this walk frees the graph
        return found, grad_fn, gradients(out, weights, variables, span) if gradient else None, first, second

    @in_force
    @repairing()
    def minimize(
        self,
        source: Source,
        names: Sequence[str] | None = None,
        *,
        method: str,
        lr: float | None,
        steps: int,
        tolerance: float,
        progress: Callable[[int, float, float], None],
    ) -> Minimum:
        """Move the variables to where the expression is smallest.

        `progress` gets the number of each step, the value and the norm of the gradient. Raises what `evaluate` raises.
        """
        from gradcli.session import minimization

        evaluate, _ = self._names.function(source)
        variables = self._names.chosen(names)
        text, compute, walk = source.text.strip(), partial(evaluate, {}), self._names.walked(source, minimization.walk_back)
        return self._names.within(
            lambda: minimization.minimum(
                text, compute, walk, variables, method=method, lr=lr, steps=steps, tolerance=tolerance, progress=progress
            )
        )

    @in_force
    def by_rows(self, source: Source, name: str, reference: str, names: Sequence[str] | None = None, *, exact: bool) -> ByRows:
        """The expression as a sum or mean over the rows of the files that `reference` names, which `name` stands for.

        The rows are of the default dtype, or (`exact`) as PyTorch reads them. `names` chooses among the bound variables. Raises
        DataError and what `evaluate` raises.
        """
        from gradcli.session.by_rows import ByRows

        return ByRows(self.state, self._names, source, name, reference, names, exact=exact)

    @in_force
    @repairing()
    def check(
        self,
        source: Source,
        vector: str | None = None,
        names: Sequence[str] | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> CheckResult:
        """The gradients by rule against differences, for the variables, or those of `names`. Raises what `gradient` raises.

        Meant for a session whose dtype is float64. `progress` gets the numbers of elements that are compared, and of all.
        """
        from gradcli.analysis.check import check
        from gradcli.analysis.complex_step import ComplexStep

        evaluate, span = self._names.function(source)
        tree = parser.parse_expression(source)
        try:
            chosen, others = self._names.chosen(names), self._interpreter.variables
            run, text = partial(evaluate, self._names.variables), source.text.strip()
            return check(
                run, chosen, partial(self._weigh, vector), text, lambda out: ComplexStep(tree, chosen, others, out.array), progress
            )
        except ProgramError as error:
            error.span = error.span or span
            raise

    def _weigh(self, vector: str | None, out: Tensor) -> Tensor | None:
        return None if vector is None else self._names.weights(vector, out)

    # --- plots and reports ---

    @in_force
    @repairing()
    def plot(self, source: Source, *, order: int, points: Sequence[int]) -> Curves | HeatMap:
        """The values over one or two ranges, with derivatives up to `order`. `points` says how many for each range that does not say
        so itself. Raises what `evaluate` raises, UsageError.
        """
        from gradcli.session import plotting

        evaluate, span = self._names.function(source)
        text = source.text.strip()
        axes = [plotting.interval(*found, usual) for found, usual in zip(self._names.ranges.values(), points, strict=True)]
        names = self.ranges
        if len(axes) == 1:
            return plotting.curves(text, span, evaluate, names[0], axes[0], order)
        return plotting.heat_map(text, span, evaluate, (names[0], names[1]), axes[0], axes[1], order)

    @in_force
    @repairing()
    def report(self, source: Source, vector: str | None = None, *, script: bool = False, of: str | None = None) -> Report:
        """What a page shows of an expression or, with `script`, of a script and its name `of` (None: what `backward()` was called
        on last, else the newest value with a graph).

        What it prints goes where all output goes. Raises what `explain` raises.
        """
        from gradcli.session import report_contents

        weigh = partial(self._weigh, vector)
        if script:
            return report_contents.script(self._interpreter, source, of, weigh)
        return report_contents.expression(self._interpreter, source, weigh, self._names)

    # --- explanations ---

    @in_force
    @repairing()
    def explain(
        self,
        source: Source | str,
        vector: str | None = None,
        *,
        of: str | None = None,
        script: bool = False,
        full: bool = False,
        summed: bool = False,
    ) -> Explanation:
        """Every step behind a value, with its gradient and how that came: of an expression, of a bound name (both as `str`),
        or of a script: of its name `of`, else of what it called `backward()` on last. `vector` are the weights; without, and
        `summed`, what is no scalar is summed. Raises what `gradient` raises.
        """
        return self._explained(source, vector, of, script=script, full=full, summed=summed)

    @in_force
    @repairing()
    def graph(
        self,
        source: Source | str,
        vector: str | None = None,
        *,
        of: str | None = None,
        script: bool = False,
        gradients: bool = False,
        strict: bool = False,
    ) -> Explanation:
        """As `explain`, to be drawn; with `gradients`, unless the result is no scalar and there is no vector (an error when `strict`)."""
        return self._explained(source, vector, of, script=script, gradients=gradients, drawn=True, strict=strict)

    def _explained(
        self,
        source: Source | str,
        vector: str | None,
        of: str | None,
        *,
        script: bool,
        full: bool = False,
        gradients: bool = True,
        drawn: bool = False,
        strict: bool = True,
        summed: bool = False,
    ) -> Explanation:
        from gradcli.analysis.graph_nodes import SUMMED
        from gradcli.session import explanation_subject

        found = explanation_subject.subject(self._interpreter, source, of, script)
        summed = summed and vector is None and found.value.array.size != 1

        def weigh(out: Tensor) -> Tensor | None:
            if summed:
                return ones_like(out)  # the weights of a sum of all elements
            return found.weights if vector is None else self._names.weights(vector, out)

        # the prompt's last value is no name of the user's
        names = {name: value for name, value in self._interpreter.variables.items() if name.strip("_")}
        told = explanation_subject.explanation(found, names, weigh, full=full, gradients=gradients, drawn=drawn, strict=strict)
        return told.replace(notes=(*told.notes, SUMMED)) if summed else told
