"""Running programs: one `Interpreter` holds the names of a session and where its output goes."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TypeVar

from gradcli import limits
from gradcli.core.calling import signature, warnings
from gradcli.core.kernels import Array, blocks
from gradcli.core.tensor import dtypes, text
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.state import state
from gradcli.errors import GradcliError, InternalFault, LimitError, ProgramError
from gradcli.lang.interpreter.compiler import compile_expression, compile_program, compile_walk
from gradcli.lang.names import iteration
from gradcli.lang.python.comparing import check_hashable
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.syntax.nodes import Expr, ExprStmt, Program
from gradcli.lang.values import subscripts, types, value_classes
from gradcli.lang.values.calls import decorate
from gradcli.lang.values.comparison import equal
from gradcli.lang.values.execution import (
    Addresses,
    Display,
    Execution,
    Outside,
    WarningKey,
    admits,
    count_output,
    execution,
    locate,
    tick,
    warning_place,
)
from gradcli.lang.values.object_operations import collect, iterate
from gradcli.lang.values.representation import qualified_name, repr_text, str_text
from gradcli.lang.values.special_methods import Instance
from gradcli.lang.values.type_names import type_name, type_repr
from gradcli.source import Span

#: Python's recursion limit while a program runs: enough for the limit on nested calls, and far from the end of the C stack
_HOST_DEPTH = 9_000

_Result = TypeVar("_Result")
_EXECUTION = attrgetter(*Execution.__slots__)

Write = Callable[[str], None]
Warn = Callable[[str, str, "Span | None"], None]


def _as_dtype(value: Value) -> DType | None:
    """The dtype that `dtype=float`, `dtype=int`, `dtype=complex` or `dtype=bool` means; None for other values."""
    if value is types.FLOAT:
        return dtypes.float64
    if value is types.INT:
        return dtypes.int64
    if value is types.COMPLEX:
        return dtypes.complex128
    return dtypes.bool_ if value is types.BOOL else None


def _as_array(value: object) -> Array | None:
    return value.as_array() if isinstance(value, value_classes.Special) else None


def _as_number(value: object) -> Value:
    return value.number() if isinstance(value, value_classes.Special) else None


def _attributes(value: object) -> Value:
    found = value.attributes() if isinstance(value, Instance) else value_classes.MISSING
    return None if found is value_classes.MISSING else found


def _text(error: ProgramError) -> str:
    """The text of an error that ends the program; what makes it may be a method of the program."""
    origin = state.origin
    try:
        return error.message
    except ProgramError:
        return "<exception str() failed>"
    finally:
        state.origin = origin


def _deep_copy(value: Value) -> Value:
    from gradcli.lang.libraries.copy import deep_copy

    return deep_copy(value)


@cache
def _provide_language() -> None:
    """Tell the core what it asks the language, and keep the memory of arrays; once for all interpreters."""
    blocks.keep_freed_memory()
    signature.language.type_name = type_name
    signature.language.type_repr = type_repr
    signature.language.qualified_name = qualified_name
    signature.language.as_dtype = _as_dtype
    signature.language.as_array = _as_array
    signature.language.as_number = _as_number
    signature.language.as_sequence = iteration.as_sequence
    signature.language.as_mapping = subscripts.mapping_items
    signature.language.length = iteration.length
    signature.language.item = subscripts.getitem
    signature.language.iterate = iterate
    signature.language.collect = collect
    signature.language.equal = equal
    signature.language.check_hashable = check_hashable
    signature.language.decorate = decorate
    signature.language.deep_copy = _deep_copy
    signature.language.attributes = _attributes
    text.language.repr = repr_text
    text.language.str = str_text


class Interpreter:
    """Runs programs that share their names.

    `write` gets the program's output, `warn` each warning's category, text and place. With `one_off` bare `sum`, `max` ...
    are torch's when their first argument is a tensor, as in one-off expressions and at the prompt. `warned` collects the keys of
    the warnings that PyTorch gives once in a process.
    """

    def __init__(
        self,
        *,
        write: Write,
        warn: Warn,
        one_off: bool = False,
        warned: set[str] | None = None,
        outside: Outside | None = None,
    ) -> None:
        self._write = write
        self._warn = warn
        self._one_off = one_off
        self._globals: dict[str, Value] = {}
        self._addresses = Addresses()
        #: see Execution.choices; the prompt sets it, because it writes scripts that name the function
        self.choices: dict[object, str] | None = None
        #: warnings given so far: category, text, name of the source, line
        self._warned: set[WarningKey] = set()
        #: keys of the warnings that are given once only
        self._warned_once = set() if warned is None else warned
        #: see Execution.filters
        self._filters: list[tuple[str, str, str]] = []
        #: see Execution.loggers
        self._loggers: dict[str, Value] = {}
        self._outside = Outside() if outside is None else outside
        self._written = 0
        self._steps = 0
        self._running = False
        _provide_language()

    # --- running ---

    def run(self, program: Program) -> None:
        """Run a file's statements. Raises the program's error, with its place, where nothing caught it."""
        self.within(lambda: self._run(program))

    def run_file(self, program: Program) -> None:
        """As `run`, but bare `sum`, `max` ... are Python's, even if the interpreter was made with `one_off`."""
        before, self._one_off = self._one_off, False
        try:
            self.run(program)
        finally:
            self._one_off = before

    def run_cell(self, program: Program) -> Value:
        """As `run_file`; the value of the last statement if that is an expression without `;`, also bound to `_`."""
        before, self._one_off = self._one_off, False
        try:
            value = self.execute_input(program)
            if self._outside.figures:
                self._show_figures()
        finally:
            self._one_off = before
        last = program.body[-1] if program.body else None
        return None if isinstance(last, ExprStmt) and last.silent else value

    def _show_figures(self) -> None:
        """Show the figures that a cell left open, as notebooks do."""
        from gradcli.lang.plotting import pyplot

        self.within(pyplot.show)

    def execute_input(self, program: Program, display: Display | None = None) -> Value:
        """Run one input of the prompt; the value of its last statement if that is an expression, also bound to `_`.

        `display` gets the values of expression statements within blocks.
        """

        def work() -> Value:
            execution.display = None if display is None else self._displaying(display)
            return self._run(program)

        value = self.within(work)
        last = program.body[-1] if program.body else None
        if not isinstance(last, ExprStmt):
            return None
        if value is not None:
            self._remember(value)
        return value

    def _remember(self, value: Value) -> None:
        """Bind `_` to the last value that was shown, `__` and `___` to those before it."""
        names = self._globals
        for older, newer in (("___", "__"), ("__", "_")):
            if newer in names:
                names[older] = names[newer]
        names["_"] = value

    def _displaying(self, display: Display) -> Display:
        def shown(statement: ExprStmt, value: Value) -> None:
            self._remember(value)
            display(statement, value)

        return shown

    def evaluate(self, expression: Expr) -> Value:
        """The value of an expression."""
        return self.within(lambda: compile_expression(expression, self._one_off)(self._globals))

    def walked(self, expression: Expr, walk: Callable[[Value], object], again: bool) -> Callable[[], Value]:
        """A function that evaluates an expression, calls `walk`, which walks back from the value, and gives the value.

        `walk` is not called where a plan does what it has to do: add the gradients of a value of one element to the leaves. `again`: the
        function is called again and again, while nothing changes but values of names, and arrays and gradients of leaves; the values may
        have no graph.
        """
        run = compile_walk(expression, self._one_off, again)

        def work() -> Value:
            execution.walk = walk
            return run(self._globals)

        return lambda: work() if self._running else self.within(work)

    def forget_files(self) -> None:
        """Let programs save and load no files from now on."""
        self._outside.files = None

    def text(self, value: Value) -> str:
        """`repr(value)`, with this interpreter's numbers for addresses."""
        return self.within(lambda: repr_text(value))

    def _run(self, program: Program) -> Value:
        variables = self._globals
        value: Value = None
        for _, run in compile_program(program, self._one_off):
            value = run(variables)
            if value_classes.CHECK_VALUES:
                self._check(value)
        return value

    def _check(self, value: Value) -> None:
        for one in (value, *self._globals.values()):
            if not value_classes.is_value(one):
                raise InternalFault(f"a host object of type {type(one).__name__} became a value")

    def within(self, work: Callable[[], _Result]) -> _Result:
        """What `work` gives while this interpreter's state is in force, which evaluations in it need not put in force again.

        Errors that escape become errors of gradcli with a span.
        """
        if self._running:
            return work()  # core calls a function of the program
        kept = _EXECUTION(execution)
        sink = warnings.set_sink(self._on_warning)
        given = warnings.set_given(self._warned_once)
        recursion, collecting, ticking = sys.getrecursionlimit(), gc.get_threshold(), limits.evaluation.tick
        self._enter()
        try:
            with limits.evaluation:
                try:
                    return work()
                except ProgramError as error:
                    error.message = _text(error)
                    raise
        except GradcliError as error:
            self._located(error)
            raise
        except RecursionError:
            raise self._located(LimitError("calls", "expressions and calls are nested too deeply")) from None
        except MemoryError:
            raise self._located(LimitError("bytes", "there is not enough memory")) from None
        except OverflowError:
            raise self._located(ProgramError("OverflowError", "int too big to convert")) from None
        except ValueError as error:
            if str(error) != "generator already executing":
                raise self._located(InternalFault(f"ValueError: {error}")) from error
            raise self._located(ProgramError("ValueError", str(error))) from None
        except Exception as error:
            raise self._located(InternalFault(f"{type(error).__name__}: {error}")) from error
        finally:
            self._running = False
            self._written, self._steps = execution.written, execution.steps
            sys.setrecursionlimit(recursion)
            gc.set_threshold(*collecting)
            limits.evaluation.tick = ticking
            warnings.set_sink(sink)
            warnings.set_given(given)
            execution.put(kept)

    def _enter(self) -> None:
        bounds = limits.current
        self._running = True
        sys.setrecursionlimit(max(_HOST_DEPTH, 1000))
        gc.set_threshold(*limits.COLLECT)
        state.origin = None
        execution.write = self._write
        execution.display = execution.walk = None
        execution.depth = 0
        execution.max_depth = bounds.calls
        execution.steps, execution.max_steps = self._steps, bounds.steps
        execution.deadline = time.monotonic() + bounds.time if bounds.time < math.inf else math.inf
        execution.written = self._written
        execution.addresses = self._addresses
        execution.choices = self.choices
        execution.handling = []
        execution.filters = self._filters
        execution.loggers = self._loggers
        execution.outside = self._outside
        limits.evaluation.tick = tick

    @staticmethod
    def _located(error: GradcliError) -> GradcliError:
        locate(error)
        error.calls.reverse()
        return error

    def _on_warning(self, category: str, message: str, inside: str) -> None:
        """Pass a warning on where the filters let it through."""
        if admits(category, message, inside, self._warned):
            count_output(message)
            self._warn(category, message, warning_place())

    def begin_input(self) -> None:
        """Start an input of the prompt: steps and output are counted from zero."""
        self._steps = self._written = 0

    # --- names ---

    @property
    def variables(self) -> dict[str, Value]:
        """The names and their values; the dict that programs use."""
        return self._globals

    def get(self, name: str) -> Value:
        """The value of a name, or MISSING."""
        return self._globals.get(name, value_classes.MISSING)

    def move(self, names: dict[str, Value]) -> None:
        """Keep the variables in `names` from now on: a subclass of dict can watch what programs bind."""
        names |= self._globals
        self._globals = names

    def set(self, name: str, value: Value) -> None:
        """Bind a name."""
        self._globals[name] = value

    def names(self) -> list[str]:
        """The names that are bound, in the order of first binding."""
        return list(self._globals)

    def snapshot(self) -> dict[str, Value]:
        """The names and their values, for `restore`; the values themselves are shared."""
        return dict(self._globals)

    def restore(self, snapshot: dict[str, Value]) -> None:
        """Bind exactly what was bound when the snapshot was taken."""
        self._globals.clear()
        self._globals.update(snapshot)
