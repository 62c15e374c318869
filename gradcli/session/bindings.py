"""The names of a session: what the command line, a batch or the prompt binds before expressions use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gradcli.core.ops.create.from_data import from_data
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import Expr
from gradcli.session import input_values
from gradcli.session.input_values import Files, Numbers
from gradcli.source import Source, Span

if TYPE_CHECKING:
    from gradcli.data.pieces import Rows

_Result = TypeVar("_Result")
#: an expression as a function of some of its names
Function = Callable[[Mapping[str, Tensor]], Tensor]


class Bindings:
    """Names bound from outside, in an interpreter that evaluates with them."""

    def __init__(self, interpreter: Interpreter, files: Files) -> None:
        self._interpreter = interpreter
        self._files = files
        #: the names to differentiate by: tensors that require grad and are leaves
        self.variables: dict[str, Tensor] = {}
        #: names bound to what was computed from variables, with the expression
        self.computed: dict[str, Expr] = {}
        #: names bound to ranges: the ends, and how many points are asked for
        self.ranges: dict[str, tuple[float, float, int | None]] = {}

    def bind(self, name: str, text: str, *, exact: bool) -> None:
        """Bind what `text` says: as a float leaf that requires grad, or (`exact`) as PyTorch reads it.

        Raises LanguageError, ProgramError, DataError, LimitError.
        """
        value, span = self._read(text, f"<value of {name}>")
        bound = value
        if not exact:
            bound = input_values.leaf(name, value, span)
        elif span is None and type(value) is Tensor:
            bound = input_values.of_default_dtype(value, text, self._files)
        elif input_values.is_numbers(value):
            bound = from_data(value, None)
        if type(bound) is Tensor and bound.requires_grad and bound.is_leaf:
            self.variables[name] = bound
        elif exact and span is not None and input_values.has_graph(bound):
            self.computed[name] = parser.parse_expression(span.source)
        self._interpreter.set(name, bound)

    def bind_data(self, name: str, value: Numbers | str) -> None:
        """Bind numbers, or the text of an expression, as a float leaf that requires grad. Raises what `bind` raises."""
        span = None
        if isinstance(value, str):
            source = Source(f"<value of {name}>", value)
            value, span = self.evaluate(source), input_values.whole(source)
        leaf = input_values.leaf(name, value, span)
        self.variables[name] = leaf
        self._interpreter.set(name, leaf)

    def bind_range(self, name: str, text: str) -> bool:
        """Bind a point of LO..HI or LO..HI:N, and remember the range; False for what is no range. Raises what `bind` raises."""
        found = input_values.range_of(text, f"<value of {name}>")
        if found is None:
            return False
        from gradcli.session import plotting

        low, high = (self._read(end, f"<value of {name}>")[0] for end in found[:2])
        start, end = plotting.ends(low, high, name)
        self.ranges[name] = (start, end, found[2])
        # the middle is often 0, where functions are special
        self.bind(name, f"{start + 0.7 * (end - start):.6g}", exact=False)
        return True

    def bind_rows(self, name: str, reference: str, *, exact: bool) -> Rows:
        """Bind the first rows of the files that `reference` names, as data; all rows of them. Raises DataError, LimitError."""
        from gradcli.core.tensor import dtypes
        from gradcli.data.pieces import Rows

        rows = Rows(reference, self._files.form)
        default = dtypes.get_default()
        if exact and rows.dtype == "float64" and default is not dtypes.float64:
            self._files.warn("UserWarning", f"{reference[1:]}: float64 is read as {default.name}; --dtype float64 keeps it", None)
        self._interpreter.set(name, input_values.of_rows(rows.load(rows.pieces[0]), rows, exact=exact))
        return rows

    def _read(self, text: str, name: str) -> tuple[Any, Span | None]:
        return input_values.read(text, name, self._files, self.evaluate)

    # --- what is made with the names ---

    def evaluate(self, source: Source) -> Any:
        """The value of an expression. Raises LanguageError, ProgramError, LimitError."""
        return self._interpreter.evaluate(parser.parse_expression(source))

    def evaluate_and_walk(self, source: Source, walk: Callable[[Any], object]) -> Any:
        """As `evaluate`. `walk` walks back from the value, where no plan adds the gradients of one number to the leaves."""
        return self._interpreter.walked(parser.parse_expression(source), walk, again=False)()

    def tensor(self, source: Source) -> tuple[Tensor, Span]:
        """The value of an expression as a tensor, and the expression's place. Raises what `evaluate` raises."""
        span = input_values.whole(source)
        return input_values.as_tensor(self.evaluate(source), span), span

    def function(self, source: Source) -> tuple[Function, Span]:
        """An expression as a function of some of its names, and its place. Names that were computed are computed anew in each call."""
        expression = parser.parse_expression(source)
        span = input_values.whole(source)
        interpreter = self._interpreter

        def evaluate(values: Mapping[str, Tensor]) -> Tensor:
            for name, leaf in values.items():
                interpreter.set(name, leaf)
            self._compute_anew()
            return input_values.as_tensor(interpreter.evaluate(expression), span)

        return evaluate, span

    def walked(self, source: Source, walk: Callable[[Tensor, Span], object]) -> Callable[[], Tensor]:
        """As `function`, for no names: each call also calls `walk`, which walks back from the value, with the expression's place."""
        expression = parser.parse_expression(source)
        span = input_values.whole(source)
        interpreter = self._interpreter
        evaluate = interpreter.walked(expression, lambda value: walk(input_values.as_tensor(value, span), span), again=True)

        def walked() -> Tensor:
            self._compute_anew()
            return input_values.as_tensor(evaluate(), span)

        return walked

    def _compute_anew(self) -> None:
        for name, tree in self.computed.items():
            self._interpreter.set(name, self._interpreter.evaluate(tree))

    def within(self, work: Callable[[], _Result]) -> _Result:
        """What `work` gives, which evaluates functions of `function` again and again. Raises what `work` and `evaluate` raise."""
        return self._interpreter.within(work)

    def weights(self, text: str, out: Tensor) -> Tensor:
        """The weights v that a word of the command line gives for `out`, of its dtype. Raises what `bind` raises."""
        value, span = self._read(text, "<value of -v>")
        return input_values.weights(value, out, span)

    def chosen(self, names: Sequence[str] | None) -> dict[str, Tensor]:
        """The variables called `names`, all for None. Raises ProgramError for a name that is no variable."""
        if names is None:
            return self.variables
        for name in names:
            if name not in self.variables:
                text = "One of the differentiated Tensors does not require grad"
                raise ProgramError("RuntimeError", text, hints=[f"{name} does not"], code=Code.INPUT_WITHOUT_GRAD)
        return {name: self.variables[name] for name in names}
