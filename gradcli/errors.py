"""The one error tree. Errors carry their kind, message, place, labels and hints; `render` makes text of them.

GradcliError                  exit code
|-- ProgramError              1    what a script can raise and catch: RuntimeError, TypeError, ...
|-- LanguageError             3    text that does not parse, or syntax that is not part of the language
|-- DataError                 1    a file or standard input that cannot be read or makes no sense
|-- UsageError                2    wrong options, names or commands
|-- Verdict                   4    the answer is "no": a check failed, a minimisation did not converge
|-- LimitError                5    a bound was reached; scripts cannot catch it
`-- InternalFault             1    a fault of gradcli itself; scripts cannot catch it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

from gradcli.source import Span


class Code(Enum):
    """What happened. Code that reacts to an error compares its code, never its message."""

    # gradients
    IMPLICIT_GRADIENT_OF_MANY = auto()  # backward without weights from a tensor of several elements; `shape`
    HESSIAN_OF_MANY = auto()  # second derivatives of a tensor of several elements; `shape`
    NO_GRAPH = auto()  # backward from a tensor that does not require grad
    INPUT_WITHOUT_GRAD = auto()  # a gradient by a tensor that does not require grad
    GRAPH_FREED = auto()  # a second walk through a graph
    SAVED_TENSOR_MODIFIED = auto()  # a saved tensor was written to before backward
    NO_DERIVATIVE = auto()  # an operation without derivative; `names` has the operation
    NEEDS_SAMPLES = auto()  # the elements of a batched tensor are there for one sample of vmap after the other only
    # requires_grad
    INTEGERS_REQUIRE_GRAD = auto()
    LEAF_WRITTEN_IN_PLACE = auto()
    NUMPY_OF_REQUIRES_GRAD = auto()
    FLAG_OF_NON_LEAF = auto()  # requires_grad of a computed tensor was to be changed
    RETAIN_GRAD_WITHOUT_GRAPH = auto()
    INFERENCE_TENSOR_SAVED = auto()
    # shapes and dtypes
    SHAPE = auto()  # sizes, shapes or dimensions that are wrong or do not fit together
    OUT_OF_RANGE = auto()  # a position in an index that the dimension does not have
    BROADCAST = auto()  # shapes that do not broadcast
    MATRIX_PRODUCT = auto()  # the inner sizes of a matrix product differ
    INVALID_VIEW_SIZE = auto()  # a shape that a tensor of this size cannot have
    WEIGHTS_SHAPE = auto()  # weights of a backward pass whose shape is not that of the output; `shape` is the output's
    GRADIENT_SHAPE = auto()  # a gradient that does not fit its operand; `names` has the place of the operand and both shapes
    MANY_ELEMENTS_AS_NUMBER = auto()
    TRUTH_OF_MANY = auto()
    DTYPES_DIFFER = auto()
    SHARED_MEMORY = auto()  # elements of a tensor that is written to refer to one place
    RESULT_DTYPE = auto()  # a result that cannot be cast to the dtype of where it goes
    NO_OUTPUT_DTYPE = auto()
    NUMBER_TOO_LARGE = auto()  # a number that the dtype does not hold
    NO_KERNEL = auto()  # `names` has the kernel and the dtype
    AFTER_CHECKS = auto()  # what PyTorch raises after its checks of memory, shapes and dtypes, for example a division by zero
    SINGULAR = auto()  # a matrix that has a zero where the library divides, of errors that are no LinAlgError
    # types of operands
    UNSUPPORTED_OPERANDS = auto()  # `names` has the operator and the types of both operands
    NOT_ITERABLE = auto()
    NOT_CALLABLE = auto()  # `names` has the type
    NOT_A_TENSOR = auto()  # the value of an expression that is to be differentiated; `names` has the type
    # names
    UNKNOWN_NAME = auto()  # `names` has the name
    NO_ATTRIBUTE = auto()  # `names` has the type or the module, and the name


class Label:
    """A remark about a second place in the text, for example `shape (2, 3)` under an operand."""

    __slots__ = ("span", "text")

    def __init__(self, span: Span, text: str) -> None:
        self.span = span
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Label) and (self.span, self.text) == (other.span, other.text)

    def __hash__(self) -> int:
        return hash((self.span, self.text))

    def __repr__(self) -> str:
        return f"Label({self.span!r}, {self.text!r})"


class Repair:
    """What to type instead of what an error is about: `text` in the place of `span`, and changes of the words of a command line.

    `values` are texts of variables, new ones or in place of the given; `exact` are variables to be given with `:=`, `leaves` with `=`;
    `options` have values for options, which come in place of the given; `command` takes the place of the command. A repair that is
    `sure` works where the text before it and behind it does; another one is a guess, which somebody has to try.
    """

    __slots__ = ("span", "text", "values", "exact", "leaves", "options", "command", "remark", "sure")

    def __init__(
        self,
        span: Span | None = None,
        text: str = "",
        *,
        values: Mapping[str, str] = MappingProxyType({}),
        exact: Sequence[str] = (),
        leaves: Sequence[str] = (),
        options: Mapping[str, str] = MappingProxyType({}),
        command: str = "",
        remark: str = "",
        sure: bool = False,
    ) -> None:
        self.span = span
        self.text = text
        self.values = values
        self.exact = exact
        self.leaves = leaves
        self.options = options
        self.command = command
        self.remark = remark
        self.sure = sure


class GradcliError(Exception):
    """The root. `kind` is printed before the message, `hints` are lines of advice that are printed below it."""

    exit_code = 1
    kind = "Error"

    def __init__(
        self,
        message: str,
        *,
        span: Span | None = None,
        labels: Sequence[Label] = (),
        hints: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.labels = list(labels)
        self.hints = list(hints)
        #: what to type instead, the likeliest first
        self.repairs: list[Repair] = []
        #: the calls that were under way, outermost first: their places, and the names of the called functions
        self.calls: list[tuple[Span, str]] = []
        #: the origin of the node whose derivative was being computed, for an error in a backward pass
        self.backward_origin: object = None


#: parent of every exception type that scripts can name: Python's tree and PyTorch's own types
EXCEPTION_PARENTS: dict[str, str | None] = {
    "BaseException": None,
    "Exception": "BaseException",
    "ArithmeticError": "Exception",
    "OverflowError": "ArithmeticError",
    "ZeroDivisionError": "ArithmeticError",
    "FloatingPointError": "ArithmeticError",
    "AssertionError": "Exception",
    "AttributeError": "Exception",
    "BufferError": "Exception",
    "ImportError": "Exception",
    "ModuleNotFoundError": "ImportError",
    "LookupError": "Exception",
    "IndexError": "LookupError",
    "KeyError": "LookupError",
    "MemoryError": "Exception",
    "NameError": "Exception",
    "UnboundLocalError": "NameError",
    "ReferenceError": "Exception",
    "RuntimeError": "Exception",
    "NotImplementedError": "RuntimeError",
    "RecursionError": "RuntimeError",
    "_LinAlgError": "RuntimeError",
    "GradcheckError": "RuntimeError",
    "CheckpointError": "RuntimeError",
    "FrozenInstanceError": "AttributeError",
    "StopIteration": "Exception",
    "SyntaxError": "Exception",
    "SystemError": "Exception",
    "TypeError": "Exception",
    "ValueError": "Exception",
    "UnicodeError": "ValueError",
    "AxisError": "ValueError",
    "LinAlgError": "ValueError",
    "UFuncTypeError": "TypeError",
    "StatisticsError": "ValueError",
    "OSError": "Exception",
    "FileNotFoundError": "OSError",
    "FileExistsError": "OSError",
    "IsADirectoryError": "OSError",
    "NotADirectoryError": "OSError",
    "PermissionError": "OSError",
    "TimeoutError": "OSError",
    "InterruptedError": "OSError",
    "ConnectionError": "OSError",
    "BrokenPipeError": "ConnectionError",
    "ConnectionAbortedError": "ConnectionError",
    "ConnectionRefusedError": "ConnectionError",
    "ConnectionResetError": "ConnectionError",
    "EOFError": "Exception",
    "UnpicklingError": "Exception",
    "error": "Exception",
    "JSONDecodeError": "ValueError",
    "KeyboardInterrupt": "BaseException",
    "SystemExit": "BaseException",
    "GeneratorExit": "BaseException",
    "Warning": "Exception",
    "UserWarning": "Warning",
    "DeprecationWarning": "Warning",
    "FutureWarning": "Warning",
    "PendingDeprecationWarning": "Warning",
    "ResourceWarning": "Warning",
    "RuntimeWarning": "Warning",
    "SyntaxWarning": "Warning",
}


#: how Python prints the names of PyTorch's types and numpy's
QUALIFIED = {
    "AxisError": "numpy.exceptions.AxisError",
    "LinAlgError": "numpy.linalg.LinAlgError",
    "UFuncTypeError": "numpy._core._exceptions._UFuncOutputCastingError",
    "StatisticsError": "statistics.StatisticsError",
    "FrozenInstanceError": "dataclasses.FrozenInstanceError",
    "UnpicklingError": "_pickle.UnpicklingError",
    "error": "re.error",
    "JSONDecodeError": "json.decoder.JSONDecodeError",
    "_LinAlgError": "torch._C._LinAlgError",
    "GradcheckError": "torch.autograd.gradcheck.GradcheckError",
    "CheckpointError": "torch.utils.checkpoint.CheckpointError",
}


class ProgramError(GradcliError):
    """An error of the program, as PyTorch or Python would raise it: a type name and the text of `str(e)`, or what makes the text when
    it is read.

    `args_` holds the values given to `raise ValueError(...)`, for `e.args`. Errors that some code reacts to have a `code`. `names`
    are the operators, types and functions, and `shape` the sizes, that the message mentions.
    """

    _message: str | Callable[[], str]

    def __init__(
        self,
        type_name: str,
        message: str | Callable[[], str],
        *,
        args: tuple[object, ...] | None = None,
        span: Span | None = None,
        labels: Sequence[Label] = (),
        hints: Sequence[str] = (),
        code: Code | None = None,
        names: tuple[str, ...] = (),
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message if isinstance(message, str) else "", span=span, labels=labels, hints=hints)
        self._message = message
        self.type_name = type_name
        self.code = code
        self.names = names
        self.shape = shape
        self.args_: tuple[object, ...] = ((message,) if message else ()) if args is None else args
        #: the instance that was raised, if its class is one that the program defines
        self.instance: object = None
        #: what a program reads as `__cause__`, `__context__` and `__suppress_context__`
        self.cause: object = None
        self.context: object = None
        self.suppresses = False
        #: the exception types that its class derives from, if its class is one that the program defines
        self.bases: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The text of `str(e)`."""
        return self._message if isinstance(self._message, str) else self._message()

    @message.setter
    def message(self, message: str) -> None:
        self._message = message

    def is_a(self, ancestor: str) -> bool:
        """Whether the type of the error is `ancestor` or derives from it."""
        return any(is_exception_subtype(name, ancestor) for name in self.bases or (self.type_name,))

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The name of the type as Python prints it before the message."""
        return QUALIFIED.get(self.type_name, self.type_name)


def runtime_error(message: str, code: Code | None = None, *, names: tuple[str, ...] = (), shape: tuple[int, ...] = ()) -> ProgramError:
    """The `RuntimeError` that PyTorch raises for most wrong arguments."""
    return ProgramError("RuntimeError", message, code=code, names=names, shape=shape)


#: PyTorch's message of a condition that it has no words for
UNMET = (
    "Expected {} to be true, but got false.  "
    "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
)


def shape_error(message: str, kind: str = "RuntimeError") -> ProgramError:
    """An error about sizes, shapes or dimensions: the diagnostic labels the operands with their shapes."""
    return ProgramError(kind, message, code=Code.SHAPE)


def is_exception_subtype(name: str, ancestor: str) -> bool:
    """Whether the exception type `name` is `ancestor` or derives from it."""
    at: str | None = name
    while at is not None:
        if at == ancestor:
            return True
        at = EXCEPTION_PARENTS.get(at)
    return False


# compiled when there is an error: a start is faster without
_OPERANDS = r"unsupported operand type\(s\) for (\S+?)(?: or pow\(\))?: '(.+)' and '(.+)'"
_QUOTED = r"'(\w+)'"


#: what Python calls the types whose values are instances of our classes
_SHOWN = {
    "UserFunction": "function",
    "Decorated": "function",
    "Builtin": "builtin_function_or_method",
    "BoundMethod": "builtin_function_or_method",
    "BoundUserMethod": "method",
    "IteratorValue": "generator",
    "KeysView": "dict_keys",
    "ValuesView": "dict_values",
    "ItemsView": "dict_items",
    "Namespace": "module",
    "TypeValue": "type",
    "ScriptType": "type",
    "ExceptionType": "type",
    "UserClass": "type",
}


def of_python(error: Exception, text: str) -> ProgramError:
    """The program's error, with `text` for its message, for one that Python itself raised.

    Python's errors have no codes and no fields: the operator and the types are read off the text.
    """
    text = re.sub(_QUOTED, lambda match: f"'{_SHOWN.get(match[1], match[1])}'", text)
    match = re.fullmatch(_OPERANDS, text)
    code, names = (Code.UNSUPPORTED_OPERANDS, match.groups()) if match else (None, tuple(re.findall(_QUOTED, text)))
    kind = next((base.__name__ for base in type(error).__mro__ if base.__name__ in EXCEPTION_PARENTS), "RuntimeError")
    return ProgramError(kind, text, args=error.args if text == str(error) else None, code=code, names=names)


class LanguageError(GradcliError):
    """Text that does not parse, or Python that is left out of the language."""

    exit_code = 3
    kind = "SyntaxError"

    def __init__(self, message: str, *, kind: str = "SyntaxError", **more: Any) -> None:
        super().__init__(message, **more)
        #: Python's name: SyntaxError, or IndentationError or TabError
        self.kind = kind


class DataError(GradcliError):
    """A file, or standard input, that cannot be read or whose content makes no sense."""

    kind = "DataError"


class UsageError(GradcliError):
    """Wrong options, names or commands."""

    exit_code = 2
    kind = "UsageError"


class Verdict(GradcliError):
    """The answer is "no": a check failed, a minimisation did not converge."""

    exit_code = 4
    kind = "Verdict"


class LimitError(GradcliError):
    """A bound was reached. `limit` is the bound's name, as `--limit` takes it.

    Of one that was `measured` the moment depends on the machine, and so do its text and place.
    """

    exit_code = 5
    kind = "LimitError"
    measured = False

    def __init__(self, limit: str, message: str, *, span: Span | None = None) -> None:
        super().__init__(message, span=span, hints=[f"--limit {limit}=VALUE changes this bound"])
        self.limit = limit


class InternalFault(GradcliError):
    """A fault of gradcli itself; no `except` of a script catches it."""

    kind = "InternalFault"
