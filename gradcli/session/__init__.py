"""The one facade: source in, plain results out. Commands, the prompt and tests use nothing below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gradcli import data, limits
from gradcli.core.autograd import grad_mode
from gradcli.core.ops.create.creation import from_data
from gradcli.core.random import seeds
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.node import Node, bound_nodes, state
from gradcli.core.tensor.tensor import Tensor, ones_like
from gradcli.core.vocabulary import settings
from gradcli.errors import Code, GradcliError, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import Expr
from gradcli.limits import Limits
from gradcli.results import CheckResult, Curves, Derivatives, Evaluation, Explanation, GradientTable, HeatMap, Minimum, Report
from gradcli.session import input_values
from gradcli.session.gradients import SUMMED, explain, gradient_table
from gradcli.session.result_values import result
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.session.interactive import Interactive


Write = Callable[[str], None]
#: a warning's category, text and place
Warn = Callable[[str, str, "Span | None"], None]


class Session:
    """Names and settings that expressions and scripts share.

    `write` gets what programs print, `warn` each warning. `dtype` is the default one, "float32" or "float64". `bounds`
    are put in force at once.
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
    ) -> None:
        limits.use(bounds)
        limits.memory.begin()
        bound_nodes()
        settings.reset()
        grad_mode.reset_modes()
        if dtype is not None:
            dtypes.set_default(dtypes.NAMED[dtype])
        if seed is not None:
            seeds.manual_seed(seed)
        if precision is not None:
            printing.options.precision = precision
        self._seed = seed or 0
        self._read_stdin = read_stdin
        self._interpreter = Interpreter(write=write, warn=warn, one_off=True)
        self._variables: dict[str, Tensor] = {}
        #: names bound to what was computed from variables, with the expression
        self._computed: dict[str, Expr] = {}
        #: names bound to ranges: the ends, and how many points are asked for
        self._ranges: dict[str, tuple[float, float, int | None]] = {}

    # --- names ---

    def bind(self, name: str, text: str, *, exact: bool) -> None:
        """Bind what `text` says: as a float leaf that requires grad, or (`exact`) as PyTorch reads it.

        Raises LanguageError, ProgramError, DataError, LimitError.
        """
        value, span = self._read(text, f"<value of {name}>")
        bound = value
        if not exact:
            bound = input_values.leaf(name, value, span)
        elif input_values.is_numbers(value):
            bound = from_data(value, None)
        if type(bound) is Tensor and bound.requires_grad and bound.is_leaf:
            self._variables[name] = bound
        elif exact and span is not None and input_values.has_graph(bound):
            self._computed[name] = parser.parse_expression(span.source)
        self._interpreter.set(name, bound)

    def _read(self, text: str, name: str) -> tuple[Any, Span | None]:
        return input_values.read(text, name, self._read_stdin, self._evaluate)

    def _evaluate(self, source: Source) -> Any:
        return self._interpreter.evaluate(parser.parse_expression(source))

    def bind_data(self, name: str, value: Any) -> None:
        """Bind a number, a boolean, nested lists of these, or the text of an expression, as a float leaf that requires grad."""
        bound = self._leaf(name, value, f"<value of {name}>")
        self._variables[name] = bound
        self._interpreter.set(name, bound)

    def _leaf(self, name: str, value: Any, source_name: str) -> Tensor:
        if not isinstance(value, str):
            return input_values.leaf(name, value, None)
        source = Source(source_name, value)
        return input_values.leaf(name, self._evaluate(source), input_values.whole(source))

    @property
    def variables(self) -> list[str]:
        """The names to differentiate by: bound tensors that require grad and are leaves."""
        return list(self._variables)

    # --- scripts ---

    def read_source(self, name: str) -> str:
        """The text of a program file. Raises DataError, LimitError."""
        return data.read_source(name, self._read_stdin)

    def run(self, source: Source, *, reuse: bool = False) -> None:
        """Run a script, which is parsed whole before; with `reuse` its tree is kept for other sessions with the same script.

        Raises LanguageError, ProgramError, LimitError.
        """
        self._interpreter.run_file(parser.parse_file(source, reuse=reuse))

    def interactive(self) -> Interactive:
        """The names of this session for a prompt, which runs one input after the other."""
        from gradcli.session.interactive import Interactive

        return Interactive(self._interpreter, self._seed)

    # --- answers ---

    def evaluate(self, source: Source) -> Evaluation:
        """The value of an expression. Raises LanguageError, ProgramError, LimitError."""
        value = self._evaluate(source)
        node = value.grad_fn if type(value) is Tensor else None
        requires_grad = type(value) is Tensor and value.requires_grad
        return Evaluation(source.text.strip(), result(value, self._interpreter.text), node.type_name if node else None, requires_grad)

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
            out, span = self._differentiable(source)
        finally:
            state.watch, state.observed = before
        return gradient_table(source, span, out, [self._weights(text, out) for text in vectors], self._chosen(names), made)

    def jacobian(self, source: Source, names: Sequence[str] | None = None) -> Derivatives:
        """All first derivatives of an expression by the variables. Raises what `evaluate` raises."""
        from gradcli.session import derivatives

        out, span = self._differentiable(source)
        variables = self._chosen(names)
        try:
            blocks = derivatives.jacobian(out, list(variables.values()), limits.Clock())
        except GradcliError as error:
            explain(error, out, span)
            raise
        return derivatives.jacobian_result(source, out, variables, blocks)

    def several(
        self, source: Source, names: Sequence[str] | None, vector: Any, *, gradient: bool, jacobian: bool, hessian: bool
    ) -> tuple[Evaluation, GradientTable | None, Derivatives | None, Derivatives | None]:
        """Value, gradient, Jacobian and Hessian of one evaluation, what is wanted of them. `vector` are weights as `bind_data` takes
        values, or None for a result that is one number. Raises what `evaluate` raises.
        """
        from gradcli.session import derivatives

        value = self._evaluate(source)
        node = value.grad_fn if type(value) is Tensor else None
        requires_grad = type(value) is Tensor and value.requires_grad
        made = Evaluation(source.text.strip(), result(value, self._interpreter.text), node.type_name if node else None, requires_grad)
        if not (gradient or jacobian or hessian):
            return made, None, None, None
        span = input_values.whole(source)
        out = input_values.as_tensor(value, span)
        weights = None
        if gradient and vector is not None:
            given = self._evaluate(Source("<vector>", vector)) if isinstance(vector, str) else vector
            weights = input_values.weights(given, out, None)
        wanted = derivatives.Wanted(gradient, jacobian, hessian)
        return made, *derivatives.derived(source, span, out, weights, self._chosen(names), wanted)

    def hessian(self, source: Source, names: Sequence[str] | None = None, *, with_gradient: bool = False) -> Derivatives:
        """All second derivatives of an expression with one value. Raises what `evaluate` raises."""
        from gradcli.session import derivatives

        out, span = self._differentiable(source)
        variables = self._chosen(names)
        try:
            slopes, blocks = derivatives.hessian(out, list(variables.values()), limits.Clock())
        except GradcliError as error:
            explain(error, out, span)
            raise
        return derivatives.hessian_result(source, out, variables, slopes if with_gradient else None, blocks)

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
        """Move the variables to where the expression is smallest. Raises what `evaluate` raises; `progress` hears of every step."""
        from gradcli.session import minimization

        expression = parser.parse_expression(source)
        span = input_values.whole(source)

        def evaluate() -> Tensor:
            for name, value in self._computed.items():
                self._interpreter.set(name, self._interpreter.evaluate(value))
            return input_values.as_tensor(self._interpreter.evaluate(expression), span)

        return minimization.minimum(
            source.text.strip(),
            span,
            evaluate,
            self._chosen(names),
            method=method,
            lr=lr,
            steps=steps,
            tolerance=tolerance,
            progress=progress,
        )

    def bind_range(self, name: str, text: str) -> bool:
        """Bind a point of LO..HI or LO..HI:N, and remember it for `plot`; False for what is no range. Raises what `bind` raises."""
        found = input_values.range_of(text)
        if found is None:
            return False
        from gradcli.session import plotting

        low, high = (self._read(end, f"<value of {name}>")[0] for end in found[:2])
        start, end = plotting.ends(low, high, name)
        self._ranges[name] = (start, end, found[2])
        # not the middle, which so often is 0, where functions are special
        self.bind(name, f"{start + 0.7 * (end - start):.6g}", exact=False)
        return True

    @property
    def ranges(self) -> list[str]:
        """The names that `bind_range` has bound."""
        return list(self._ranges)

    def plot(self, source: Source, *, order: int, points: Sequence[int]) -> Curves | HeatMap:
        """The values over one or two ranges, with derivatives up to `order`. `points` says how many for each range that does not say
        so itself. Raises what `evaluate` raises, UsageError.
        """
        from gradcli.session import plotting

        evaluate, span = self._function(source)
        text = source.text.strip()
        axes = [plotting.interval(*found, usual) for found, usual in zip(self._ranges.values(), points, strict=True)]
        names = self.ranges
        if len(axes) == 1:
            return plotting.curves(text, span, evaluate, names[0], axes[0], order)
        return plotting.heat_map(text, span, evaluate, (names[0], names[1]), axes[0], axes[1], order)

    def _function(self, source: Source) -> tuple[Callable[[Mapping[str, Tensor]], Tensor], Span]:
        """An expression as a function of some of its names, and its place."""
        expression = parser.parse_expression(source)
        span = input_values.whole(source)

        def evaluate(values: Mapping[str, Tensor]) -> Tensor:
            for name, leaf in values.items():
                self._interpreter.set(name, leaf)
            for name, tree in self._computed.items():
                self._interpreter.set(name, self._interpreter.evaluate(tree))
            return input_values.as_tensor(self._interpreter.evaluate(expression), span)

        return evaluate, span

    def report(self, source: Source, vector: str | None = None, *, script: bool = False, of: str | None = None) -> Report:
        """What a page shows of an expression or, with `script`, of a script and its name `of` (None: what `backward()` was called
        on last, else the newest value with a graph).

        What it prints goes where all output goes. Raises what `explain` raises.
        """
        from gradcli.session import report_contents

        def weigh(out: Tensor) -> Tensor | None:
            return None if vector is None else self._weights(vector, out)

        if script:
            return report_contents.script(self._interpreter, source, of, weigh)
        evaluate, span = self._function(source)
        computed = {name: tree.source.text for name, tree in self._computed.items()}
        found = report_contents.expression(self._interpreter, source, weigh, computed)
        ranges = {name: (start, end) for name, (start, end, _) in self._ranges.items()}
        plots = report_contents.plots(found, source.text.strip(), span, evaluate, self._variables, ranges)
        at = ", ".join(f"{name} = {self._variables[name].item():.6g}" for name in ranges)
        notes = (f"graph and gradients are those at {at}",) if at else ()
        return found.replace(plots=plots, notes=found.notes + notes)

    def _differentiable(self, source: Source) -> tuple[Tensor, Span]:
        """The value of an expression as a tensor, and the expression's place."""
        value = self._evaluate(source)
        span = input_values.whole(source)
        out = input_values.as_tensor(value, span)
        return out, span

    # --- explanations ---

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

    def check(self, source: Source, vector: str | None = None, names: Sequence[str] | None = None) -> CheckResult:
        """The gradients by rule against differences, for the variables, or those of `names`. Raises what `gradient` raises.

        Meant for a session whose dtype is float64.
        """
        from gradcli.analysis.check import check
        from gradcli.analysis.complex_step import ComplexStep

        evaluate, span = self._function(source)
        tree = parser.parse_expression(source)

        def weigh(out: Tensor) -> Tensor | None:
            return None if vector is None else self._weights(vector, out)

        try:
            chosen, others = self._chosen(names), self._interpreter.variables
            run, text = partial(evaluate, self._variables), source.text.strip()
            return check(run, chosen, weigh, text, lambda out: ComplexStep(tree, chosen, others, out.array))
        except ProgramError as error:
            error.span = error.span or span
            raise

    def _explained(
        self,
        source: Source | str,
        vector: str | None,
        of: str | None,
        *,
        script: bool = False,
        full: bool = False,
        gradients: bool = True,
        drawn: bool = False,
        strict: bool = True,
        summed: bool = False,
    ) -> Explanation:
        from gradcli.session import explanation_subject

        found = explanation_subject.subject(self._interpreter, source, of, script)
        summed = summed and vector is None and found.value.array.size != 1

        def weigh(out: Tensor) -> Tensor | None:
            if summed:
                return ones_like(out)  # the weights of a sum of all elements
            return found.weights if vector is None else self._weights(vector, out)

        # the prompt's last value is no name of the user's
        names = {name: value for name, value in self._interpreter.variables.items() if name != "_"}
        told = explanation_subject.explanation(found, names, weigh, full=full, gradients=gradients, drawn=drawn, strict=strict)
        return told.replace(notes=(*told.notes, SUMMED)) if summed else told

    def _chosen(self, names: Sequence[str] | None) -> dict[str, Tensor]:
        if names is None:
            return self._variables
        for name in names:
            if name not in self._variables:
                text = "One of the differentiated Tensors does not require grad"
                raise ProgramError("RuntimeError", text, hints=[f"{name} does not"], code=Code.INPUT_WITHOUT_GRAD)
        return {name: self._variables[name] for name in names}

    def _weights(self, text: str, out: Tensor) -> Tensor:
        value, span = self._read(text, "<value of -v>")
        return input_values.weights(value, out, span)
