"""A session at the prompt: one input after the other. An input that fails changes nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gradcli import limits
from gradcli.analysis import graph_nodes
from gradcli.analysis.recorder import Recorder, recorded
from gradcli.analysis.reference import descriptions
from gradcli.core.functions.function import Function
from gradcli.core.tensor import dtypes, printing
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.vocabulary import torch_types
from gradcli.core.vocabulary.session_state import SessionState, in_force
from gradcli.errors import DataError, GradcliError, ProgramError, UsageError
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.names import bare_names
from gradcli.lang.prompt import completion, editing, looking, script_writer
from gradcli.lang.prompt.checkpoint import Checkpoint
from gradcli.lang.prompt.script_writer import Input
from gradcli.lang.syntax import parser
from gradcli.lang.syntax.nodes import Assign, ExprStmt, Name, Program
from gradcli.lang.values.execution import count_output
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import MISSING, NumpyValue
from gradcli.results.explanations import GraphNodes
from gradcli.results.reference import Completion, Description, Entry
from gradcli.results.values import Evaluation, Value, Variable
from gradcli.session.repairing import repairing
from gradcli.session.result_values import result_value, tensor_value
from gradcli.source import Source

#: at most so many inputs can be undone, and only while the copies for it take at most so many bytes
MOST_UNDO = 100
MOST_UNDO_BYTES = 256 * 2**20
#: the most completions that are described: more would take too long
MOST_EXPLAINED = 50
#: `:save` writes out data of at most so many numbers
MOST_DATA = 100_000

_OPERATOR = re.compile(r"\s*(?:[*/%@&|^<>]|==|!=)")
_DECORATOR = re.compile(r"\s*@\s*([A-Za-z_][\w.]*)\s*(?:\(.*\))?\s*\Z")

#: a `;` at the end of a line, which suppresses the echo
_LINE_END = re.compile(r"[ \t]*;[ \t]*(?:#[^\n]*)?(?:\n|\Z)")

#: types that the prompt shows in another way than `print`
_SHOWN_OTHERWISE = (str, NumpyValue, torch_types.Device, ProgramError)

#: the most that a preview may use; time in seconds
_PREVIEW = {"elements": 1e6, "bytes": 64 * 2.0**20, "work": 1e8, "steps": 1e5, "time": 0.3, "output": 1e6}

Echo = Callable[[Evaluation], None]


class Interactive:
    """The names of an interpreter as a prompt uses them. `state` is in force during its methods, `seed` is that of the generator."""

    def __init__(self, interpreter: Interpreter, state: SessionState, seed: int) -> None:
        self.state = state
        self._interpreter = interpreter
        #: the values of steps, and saved tensors that a backward pass has freed, for `:grads` and `:explain`
        self._recorder = Recorder()
        #: the inputs that succeeded
        self.inputs: list[Input] = []
        #: the states before the inputs, each with the inputs up to it
        self._undo: list[tuple[Checkpoint, list[Input]]] = []
        self._last: Checkpoint | None = None
        self._choices: dict[object, str] = {}
        interpreter.choices = self._choices
        with state:
            self._setup = _setup_lines(seed)
            self._first = Checkpoint(interpreter.variables)

    # --- inputs ---

    def prepared(self, text: str) -> str:
        """`text`, with `_`, the last value, before an operator that cannot begin an expression."""
        if not _OPERATOR.match(text) or self._is_decorator(text):
            return text
        try:
            # `*a, b = c` is a statement
            parser.parse_input(Source("", text))
        except GradcliError:
            return "_ " + text.lstrip()
        return text

    def _is_decorator(self, text: str) -> bool:
        first, newline, _ = text.partition("\n")
        match = _DECORATOR.match(first)
        if match is None:
            return False
        value = completion.lookup(match[1], self._interpreter.variables)
        return bool(newline) or not (value is MISSING or type(value) in (Tensor, Function))

    def is_complete(self, text: str) -> bool:
        """Whether the text is a whole input; else the prompt reads another line."""
        return editing.is_complete(self.prepared(text))

    @in_force
    @repairing(statements=True)
    def enter(self, text: str, name: str, echo: Echo) -> None:
        """Run one input called `name`; `echo` gets each value that the prompt shows.

        Raises LanguageError, ProgramError, LimitError; then nothing has changed.
        """
        with _Atomic(self) as block:
            program = parser.parse_input(Source(name, self.prepared(text)))
            bound = frozenset(self._interpreter.variables)
            block.can_be_undone = not looking.only_looks(program, self._interpreter.variables)
            inner: dict[ExprStmt, str] = {}
            echoes = tuple([self._statement(program, at, echo, inner) for at in range(len(program.body))])
            if program.body:
                self.inputs.append(Input(program, echoes, bound, inner=inner))

    def _statement(self, program: Program, at: int, echo: Echo, inner: dict[ExprStmt, str]) -> str:
        """Run statement number `at`; the way its value was shown. `inner` gets the ways of the statements within its blocks."""
        statement = program.body[at]

        def display(one: ExprStmt, value: Any) -> None:
            count_output(self._interpreter.text(value))
            inner[one] = self._echoed(one, value, echo)

        self._interpreter.begin_input()
        with recorded(self._recorder):
            value = self._interpreter.execute_input(Program(program.source, statement.start, statement.end, (statement,), {}), display)
        return "" if not isinstance(statement, ExprStmt) or value is None else self._echoed(statement, value, echo)

    def _echoed(self, statement: ExprStmt, value: Any, echo: Echo) -> str:
        if statement.silent and _LINE_END.match(statement.source.text, statement.end):
            return "silent"
        node = value.grad_fn if type(value) is Tensor else None
        echo(Evaluation(statement.text, self._show(value), node.type_name if node else None, node is not None))
        return "repr" if isinstance(value, _SHOWN_OTHERWISE) else "print"

    @in_force
    def load(self, text: str, name: str) -> None:
        """Run the text of a file, in which `sum`, `max` ... are Python's. Raises what `enter` raises; then nothing has changed."""
        with _Atomic(self):
            program = parser.parse_file(Source(name, text))
            bound = frozenset(self._interpreter.variables)
            self._interpreter.begin_input()
            with recorded(self._recorder):
                self._interpreter.run_file(program)
            self.inputs.append(Input(program, ("",) * len(program.body), bound, one_off=False))

    def has(self, name: str) -> bool:
        """Whether the user has bound the name."""
        return name in self._interpreter.variables

    def _named(self) -> dict[str, Any]:
        """The bound names, without those of values before the last."""
        return {name: value for name, value in self._interpreter.variables.items() if name not in ("__", "___")}

    @in_force
    def value(self, text: str) -> Any:
        """The value of an expression. Raises LanguageError, ProgramError, LimitError."""
        return self._interpreter.evaluate(parser.parse_expression(Source("<expression>", text)))

    # --- going back ---

    @in_force
    def begin(self) -> Checkpoint:
        """A checkpoint of the current state."""
        self._last = Checkpoint(self._interpreter.variables, self._last)
        return self._last

    def commit(self, checkpoint: Checkpoint, inputs: list[Input]) -> None:
        """The inputs after `inputs` succeeded: make it possible to go back to `checkpoint`, the state before them."""
        self._undo.append((checkpoint, inputs))
        held: dict[int, int] = {}
        for at in range(len(self._undo) - 1, -1, -1):
            held |= self._undo[at][0].held()
            if sum(held.values()) > MOST_UNDO_BYTES or len(self._undo) - at > MOST_UNDO:
                del self._undo[: at + 1]
                break

    @in_force
    def undo(self) -> str:
        """Take the last input back; a message that says so. Raises UsageError where there is none."""
        if not self._undo:
            raise UsageError("there is nothing to undo")
        checkpoint, inputs = self._undo.pop()
        gone = self.inputs[len(inputs) :]
        checkpoint.restore()
        self.inputs[:] = inputs
        text = gone[0].source.text.strip() if gone else ""
        note = "" if checkpoint.complete else "; what was written into large tensors stays, as there was no room for copies"
        return f"undone: {text}{note}" if text else f"undone{note}"

    @in_force
    def reset(self) -> None:
        """Forget all names and inputs, and put the settings back to those of the start."""
        with _Atomic(self):
            self._first.restore()
            self._interpreter.variables.clear()
            self.inputs.clear()

    @in_force
    def zero(self) -> list[str]:
        """Set the gradient of every named leaf to None; the names of those that had one."""
        tensors = [(name, value) for name, value in self._named().items() if type(value) is Tensor]
        found = [name for name, value in tensors if value.is_leaf and value.grad is not None]
        if found:
            self.setting("; ".join(f"{name}.grad = None" for name in found))
        return found

    @in_force
    def setting(self, text: str) -> None:
        """Run a line, such as `torch.manual_seed(1)`, without echo, as a part of the script that `script` writes."""
        with _Atomic(self):
            program = parser.parse_input(Source("<command>", text))
            bound = frozenset(self._interpreter.variables)
            for at in range(len(program.body)):
                self._statement(program, at, _quiet, {})
            self.inputs.append(Input(program, ("",) * len(program.body), bound))

    @in_force
    def bound(self, name: str, bind: Callable[[], None]) -> None:
        """Call `bind`, which binds `name` to data from outside; the script gets an assignment of the numbers."""
        with _Atomic(self):
            before = frozenset(self._interpreter.variables)
            bind()
            value = self._interpreter.get(name)
            text = self._data_text(name, value)
            self.inputs.append(Input(parser.parse_input(Source("<command>", text)), ("",), before))

    def _data_text(self, name: str, value: Any) -> str:
        if type(value) is not Tensor:
            return f"{name} = {self._interpreter.text(value)}"
        if value.array.size > MOST_DATA:
            # a mark, by which `script` finds the input that is too large
            return f"{name} = {_TOO_LARGE}"
        data = re.sub(r"\b(nan|inf)\b", r"float('\1')", str(value.tolist()))
        more = ", requires_grad=True" if value.requires_grad else ""
        return f"{name} = torch.tensor({data}, dtype=torch.{value.dtype.name}{more})"

    # --- looking ---

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """A block that may evaluate and walk backward; the state is put back at its end."""
        with self.state:
            before = self.begin()
            try:
                with recorded(self._recorder):
                    yield
            finally:
                before.restore()

    @in_force
    def preview(self, text: str) -> str:
        """The text of the value that an input would have, "" for none. The input is run within small limits: call this in a copy of
        the process."""
        now = limits.current
        limits.use(now.changed(**{name: min(getattr(now, name), most) for name, most in _PREVIEW.items()}))
        self._interpreter.forget_files()
        program = parser.parse_input(Source("<preview>", self.prepared(text)))
        if not program.body:
            return ""
        value = self._interpreter.execute_input(program)
        last = program.body[-1]
        if isinstance(last, Assign) and isinstance(last.targets[0], Name):
            value = self._interpreter.get(last.targets[0].id)
        elif not isinstance(last, ExprStmt):
            return ""
        return "" if value is None else self._interpreter.text(value)

    @in_force
    def timed(self, text: str) -> tuple[float, int]:
        """The shortest time in seconds that an evaluation of the expression took, and how many there were; nothing stays."""
        expression = parser.parse_expression(Source("<expression>", self.prepared(text)))
        best, runs, start = float("inf"), 0, time.perf_counter()
        with self.untouched(), recorded(None):
            while runs < 3 or (time.perf_counter() - start < 0.5 and runs < 1000):
                self._interpreter.begin_input()
                begin = time.perf_counter()
                self._interpreter.evaluate(expression)
                best = min(best, time.perf_counter() - begin)
                runs += 1
                if time.perf_counter() - start > 2:
                    break
        return best, runs

    @in_force
    def variables(self) -> tuple[Variable, ...]:
        """The names that are bound, with their values."""
        return tuple(self._variable(name, value) for name, value in self._named().items())

    def _variable(self, name: str, value: Any) -> Variable:
        if type(value) is not Tensor:
            return Variable(name, self._show(value))
        node = value.grad_fn
        grad = None if value.grad is None else self._show(value.grad)
        return Variable(
            name, self._show(value), str(tuple(value.shape)), str(value.requires_grad), "-" if node is None else node.type_name, grad
        )

    @in_force
    def gradients(self, text: str) -> GraphNodes:
        """Every node of the graph behind an expression; for "" behind the last value, else the newest. Raises ProgramError, UsageError."""
        with self.untouched():
            value = self.value(text) if text else self._latest()
            if type(value) is not Tensor:
                raise ProgramError("TypeError", "there is no graph behind this value: it is no tensor")
            names = {name: named for name, named in self._named().items() if name != "_"}
            return graph_nodes.nodes_behind(value, names, self._recorder, tensor_value)

    def _latest(self) -> Any:
        """The last value if it requires grad, else the named tensor with the newest node."""
        last = self._interpreter.get("_")
        if type(last) is Tensor and last.requires_grad:
            return last
        found = [v for v in self._named().values() if type(v) is Tensor and v.grad_fn is not None]
        if not found:
            raise UsageError("neither the last value nor any name has a graph")
        return max(found, key=lambda value: value.grad_fn.sequence if value.grad_fn else 0)

    def _show(self, value: Any) -> Value:
        return result_value(value, self._interpreter.text, self._interpreter.text)

    @in_force
    def describe(self, path: str) -> Entry | Description | Variable:
        """The reference entry of `path` with its example, else the description of a function, else the value. Raises ProgramError."""
        value = self._lookup(path)
        if value is MISSING:
            hints = bare_names.hints(path.rpartition(".")[2], self._interpreter.variables)
            raise ProgramError("NameError", f"name '{path}' is not defined", hints=hints)
        from gradcli.analysis.reference import lookup

        is_own = path.partition(".")[0] in self._interpreter.variables
        found = lookup.of_value(path, value, is_own)
        if found is not None:
            return lookup.with_example(found)
        return descriptions.describe(path, value) or self._variable(path, value)

    def _lookup(self, path: str) -> Any:
        value = completion.lookup(path, self._interpreter.variables)
        return completion.lookup(f"F.{path}", {}) if value is MISSING and "." not in path else value

    @in_force
    def complete(self, text: str) -> list[Completion]:
        """The completions of `text`, the input up to the cursor."""
        length = len(completion.word_before(text))
        found = completion.candidates(text, self._interpreter.variables)
        explained = len(found) <= MOST_EXPLAINED
        return [Completion(one.text, length, one.kind, self._about(one) if explained else "") for one in found]

    @in_force
    def signature(self, text: str) -> str:
        """The signature of the call that is open at the end of `text`, "" for none. Nothing is evaluated."""
        found = completion.open_call(text, self._interpreter.variables)
        if found is None:
            return ""
        path, value = found
        known = descriptions.summary(path, value).partition("   ")[0]
        names = "" if known else ", ".join(completion.keyword_names(value))
        return known or (f"{path}({names})" if names else "")

    def _about(self, candidate: completion.Candidate) -> str:
        if candidate.kind == "variable":
            return _brief(candidate.value)
        if candidate.kind in ("keyword", "module", "keyword argument"):
            return candidate.kind
        return descriptions.summary(candidate.text, completion.value_of(candidate, self._interpreter.variables))

    # --- the script ---

    @in_force
    def script(self) -> str:
        """The inputs that succeeded as a script for gradcli and PyTorch. Raises DataError for data that is too large to write out."""
        for one in self.inputs:
            if one.source.text.endswith(_TOO_LARGE):
                raise DataError(f"{one.source.text.split()[0]} has more than {MOST_DATA:,} numbers: too many to write into a script")
        return script_writer.Writer(self.inputs, self._choices).text(self._setup)


_TOO_LARGE = "None  # too large"


class _Atomic:
    """A block that can be undone as one input; where it raises, the state is put back."""

    def __init__(self, session: Interactive) -> None:
        self._session = session
        #: False for an input that only looks, which going back passes over
        self.can_be_undone = True

    def __enter__(self) -> _Atomic:
        self._before = list(self._session.inputs)
        self._checkpoint = self._session.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None and not self.can_be_undone:
            return
        if kind is None:
            self._session.commit(self._checkpoint, self._before)
        else:
            self._checkpoint.restore()
            self._session.inputs[:] = self._before


def _quiet(value: Evaluation) -> None:
    """Commands do not echo."""


def _brief(value: object) -> str:
    if type(value) is Tensor:
        return f"{value.dtype.name} {tuple(value.array.shape)}" + (" requires_grad" if value.requires_grad else "")
    return type_name(value)


def _setup_lines(seed: int) -> list[str]:
    """The lines that give a script this session's settings: seed, default dtype, precision."""
    lines = [f"torch.manual_seed({seed})"]
    if dtypes.get_default() is not dtypes.float32:
        lines.append(f"torch.set_default_dtype({dtypes.get_default()})")
    if printing.options.precision != 4:
        lines.append(f"torch.set_printoptions(precision={printing.options.precision})")
    return lines
