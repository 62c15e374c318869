"""Public functions: the name, PyTorch's signatures, documentation and samples, and the ways to call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Any, Literal

from gradcli.core.calling.overloads import Parser
from gradcli.core.calling.routines import Routine, check_arguments
from gradcli.core.calling.signature import Signature
from gradcli.core.functions.out import OutRule
from gradcli.core.graph.record import Op
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, ProgramError

Overload = tuple[str, Callable[..., Any]]
#: how operands may not share memory with a tensor that is written to: in part, or at all
Overlap = Literal["", "partial", "any"]


class Sample:
    """An example in gradcli's language: shown by `ops`, evaluated by tests.

    `inputs` are float leaves; the gradient of the expression is checked for each. `reference` computes the value
    with numpy from arrays of the same names; None where numpy has no such function.
    """

    __slots__ = ("text", "reference", "inputs")

    def __init__(self, text: str, reference: Callable[..., Any] | None = None, **inputs: Any) -> None:
        self.text = text
        self.reference = reference
        self.inputs = inputs


class Function:
    """A function of torch's: `torch.NAME`, the method `Tensor.NAME` where `method`, `NAME_` where `inplace`.

    `overloads` are pairs of a signature and its implementation, in the order they are tried. `ops` are the records
    whose names and formulas belong to it.
    """

    __slots__ = (
        *("name", "operator", "namespace", "overloads", "ops", "doc", "samples", "is_method", "is_function", "inplace", "torch_inplace"),
        *("written", "writes", "analytic", "aliases", "takes_out", "out", "python_name", "parsed_as", "overlap", "fills", "_parser"),
        *("unseen", "_method_parser"),
    )

    #: what argument errors put before the name, as in `linalg_inv`
    PREFIX = ""

    def __init__(
        self,
        name: str,
        *overloads: Overload,
        doc: str,
        ops: Sequence[Op] = (),
        samples: Sequence[Sample] = (),
        namespace: str = "torch",
        method: bool = True,
        function: bool = True,
        inplace: bool = False,
        torch_inplace: Sequence[str] = (),
        written: Sequence[Overload] = (),
        analytic: Callable[..., Any] | None = None,
        aliases: Sequence[str] = (),
        out: OutRule = False,
        python: str = "",
        parsed_as: str = "",
        overlap: Overlap | None = None,
        fills: bool = False,
        unseen: bool = False,
    ) -> None:
        self.name = name
        #: "torch", "torch.nn.functional", "torch.linalg" ...
        self.namespace = namespace
        #: what PyTorch calls its operator, whatever the alias
        self.operator = f"{namespace.removeprefix('torch.')}_{name}" if namespace in ("torch.linalg", "torch.special") else name
        self.overloads = overloads
        self.ops = tuple(ops)
        self.doc = doc
        self.samples = tuple(samples)
        self.is_method = method
        self.is_function = function
        self.inplace = inplace or bool(torch_inplace) or bool(written)
        #: the in-place forms that are functions of torch's too, such as `exp_`; of all others there are methods only
        self.torch_inplace = torch_inplace
        #: the overloads of the in-place forms, where PyTorch gives those a derivative of their own
        self.written = written
        #: whether it writes into its first argument
        self.writes = name.endswith("_")
        #: the same function of complex arrays, by numpy alone, where it is analytic: `check` takes complex steps with it
        self.analytic = analytic
        #: further names in the same places; `linalg.x` for another namespace below torch
        self.aliases = tuple(aliases)
        self.takes_out = bool(out)
        self.out = out
        #: the name in Python's errors for wrong calls, where PyTorch wraps the function in one of Python
        self.python_name = python
        #: the name in errors about arguments, where it is another
        self.parsed_as = parsed_as
        if overlap is None and (any(op.elementwise for op in ops) or (self.inplace and not ops)):
            overlap = "partial"
        #: which operands the in-place form and `out=` refuse: those that share a part of the tensor's memory ("partial"), or any of it
        #: ("any")
        self.overlap = overlap
        #: whether the in-place form takes tensors whose elements share memory, such as expanded ones
        self.fills = fills
        #: whether PyTorch's autograd does not see what the in-place form writes, into leaves and their views too
        self.unseen = unseen
        self._parser: Parser | None = None
        self._method_parser: Parser | None = None

    def __repr__(self) -> str:
        return f"<built-in method {self.name} of type object>"

    @property
    def parser(self) -> Parser:
        """The overloads of the function, parsed on first use."""
        if self._parser is None:
            self._parser = Parser(self.parsed_as or f"{self.PREFIX}{self.name}", self._signatures(), self.ops)
        return self._parser

    def _signatures(self) -> list[Signature]:
        return [Signature(text, run, self.takes_out) for text, run in self.overloads]

    def under(self, name: str) -> Function:
        """The same function as its errors name it under an alias or in its in-place form."""
        if name == self.name:
            return self
        made = copy(self)
        made.name = name
        made._parser = made._method_parser = None
        return made

    @property
    def method_parser(self) -> Parser:
        """The overloads of the method: without the first parameter."""
        if self._method_parser is None:
            self._method_parser = Parser(
                self.name.removeprefix("Tensor."), [s.without_self() for s in self.parser.signatures if s.is_method], self.ops
            )
        return self._method_parser

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.python_name:
            self._check_python(self.python_name, args, kwargs)
            if self.takes_out and len(args) > self.parser.signatures[0].max_positional:
                args, kwargs = args[:-1], {**kwargs, "out": args[-1]}  # Python's functions take it by position too
        if self.takes_out and "out" in kwargs:
            return _out_arguments().call(self, args, kwargs)
        if self.writes and state.within is not None:
            _write_checks().check_captured(self.name, args)
        return (self._parser or self.parser).call(args, kwargs)

    def method(self, tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call as `tensor.NAME(*args, **kwargs)`."""
        if self.python_name:
            self._check_python(self.python_name, (tensor, *args), kwargs, "self")
        parser = self._method_parser or self.method_parser
        if (args or kwargs) and len(parser.signatures) == 1 and not parser.signatures[0].parameters:
            raise self._takes_none(args, kwargs)
        if self.writes and state.within is not None:
            _write_checks().check_captured(self.name, (tensor, *args))
        return parser.call(args, kwargs, (tensor,))

    def _takes_none(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgramError:
        given = "keyword arguments" if kwargs else f"arguments ({len(args)} given)"
        return ProgramError("TypeError", f"TensorBase.{self.name}() takes no {given}")

    def check_method(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise TypeError for arguments that no overload of the method takes."""
        parser = self.method_parser
        if (args or kwargs) and len(parser.signatures) == 1 and not parser.signatures[0].parameters:
            raise self._takes_none(args, kwargs)
        parser.find(args, kwargs)

    def _check_python(self, name: str, args: Sequence[Any], kwargs: dict[str, Any], first: str = "") -> None:
        parameters = self.parser.signatures[0].parameters
        names = [p.name for p in parameters if not p.keyword_only]
        names[:1] = [first or names[0]]
        if self.takes_out and not first:
            names.append("out")
        required = sum(not p.has_default for p in parameters)
        check_arguments(name, names, required, args, kwargs, [p.name for p in parameters if p.keyword_only and p.name not in names])


@cache
def _out_arguments() -> Any:
    """The module of `out=`. It is loaded on first use, since many programs never name it."""
    from gradcli.core.functions import out_arguments

    return out_arguments


#: operators whose in-place forms leave out the term of a tensor without a tangent; others take it as 0, which shows in signs of zeros
_WITHOUT_ZEROS = ("atan2", "copysign", "fmod", "hypot", "mul", "multiply", "nextafter", "pow", "remainder", "scatter_reduce")
#: errors before which PyTorch may check the memory, the shape and the dtype of a tensor that is written to
_LATE = (Code.RESULT_DTYPE, Code.SHARED_MEMORY, Code.AFTER_CHECKS)


@cache
def _inplace_forms() -> Any:
    """The module that computes in-place forms. It is loaded on first use, since many programs never write."""
    from gradcli.core.graph import inplace_forms

    return inplace_forms


@cache
def _write_checks() -> Any:
    """The module that says what may be written, loaded on first use too."""
    from gradcli.core.graph import write_checks

    return write_checks


class InplaceFunction:
    """`NAME_`, made from a function: computes, then writes into the tensor and rebases its history."""

    __slots__ = ("name", "of", "named")

    def __init__(self, of: Function) -> None:
        self.name = f"{of.name}_"
        self.of = of
        self.named = of.under(self.name)
        # the in-place forms begin with the tensor and write into nothing else
        self.named.takes_out = False
        self.named.overloads = tuple(of.written) or tuple(
            o for o in of.overloads if o[0].startswith(("Tensor", "Operand")) or "|deprecated" in o[0]
        )

    def __repr__(self) -> str:
        return f"<built-in method {self.name} of type object>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        signature, values = self.named.parser.find(args, kwargs)
        at = next(i for i, value in enumerate(values) if type(value) is Tensor)  # deprecated overloads begin with a factor
        before, tensor, after = values[:at], values[at], values[at + 1 :]
        return self._apply(tensor, [*before, *after], lambda t: signature.implementation(*before, t, *after))

    def method(self, tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call as `tensor.NAME_(*args, **kwargs)`."""
        operands = (*args, *kwargs.values()) if kwargs else args
        if len(args) == 2 and self.of.operator in ("add", "sub"):  # the deprecated overload, which begins with the factor
            operands = args[::-1]
        try:
            return self._apply(tensor, operands, lambda t: self.named.method(t, args, kwargs))
        except ProgramError as error:
            if error.code is Code.LEAF_WRITTEN_IN_PLACE:  # PyTorch finds the overload first
                self.named.check_method(args, kwargs)
            raise

    def _apply(self, tensor: Tensor, operands: Sequence[Any], compute: Callable[[Tensor], Any]) -> Any:
        if self.of.unseen and state.enabled:
            with recording(False):
                return self._apply(tensor, operands, compute)
        if state.within is not None:
            _write_checks().check_captured(self.name, (tensor, *operands))
        if state.mapped:
            _write_checks().check_batch(tensor, self.name, operands)
        if state.dual is not None and self.of.ops and self.of.operator not in _WITHOUT_ZEROS:
            compute = state.dual.with_tangent(tensor, operands, compute)
        try:
            if self.of.fills:
                return _inplace_forms().fill(tensor, compute, self.name)
            version = tensor.version  # None: there is no view of the same memory
            for operand in operands:
                if type(operand) is Tensor and (operand is tensor or operand.version is version is not None):
                    return _inplace_forms().apply_apart(tensor, operands, compute, self.of.overlap)
            return _inplace_forms().apply(tensor, compute)
        except ProgramError as error:
            overlap = self.of.overlap
            if overlap == "any" and error.code in (Code.OUT_OF_RANGE, Code.AFTER_CHECKS):
                _inplace_forms().check_apart(tensor, operands)
            late = error.code in _LATE or (error.code in (Code.NO_KERNEL, Code.NUMBER_TOO_LARGE) and overlap)
            if overlap != "any" and (late or (error.code is Code.BROADCAST and overlap is not None)):
                raise _inplace_forms().first_error(error, self.of.operator, tensor, operands) from None
            raise


class SingleArgument(Function):
    """A function of C++ that takes one argument by position, and parses none: `at` is where PyTorch's errors say that it stands."""

    __slots__ = ("at",)

    def __init__(self, name: str, *overloads: Overload, at: str, **more: Any) -> None:
        super().__init__(name, *overloads, **more)
        self.at = at

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kwargs:
            raise ProgramError("TypeError", f"{self.at}.{self.name}() takes no keyword arguments")
        if len(args) != 1:
            raise ProgramError("TypeError", f"{self.at}.{self.name}() takes exactly one argument ({len(args)} given)")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        self._check(args, kwargs)
        return super().__call__(*args)

    def method(self, tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._check(args, kwargs)
        return super().method(tensor, args, {})


class PythonMethod(Routine):
    """A tensor method that PyTorch writes in Python: wrong calls raise Python's errors instead of PyTorch's."""

    __slots__ = ("doc",)

    #: the same attributes as those of Function
    is_function, is_method, inplace = False, True, False
    samples: tuple[Sample, ...] = ()
    ops: tuple[Op, ...] = ()

    def __init__(self, function: Callable[..., Any], name: str, doc: str) -> None:
        super().__init__(function, f"Tensor.{name}", hide_first=True)
        self.doc = doc

    def method(self, tensor: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call as `tensor.NAME(*args, **kwargs)`."""
        return self(tensor, *args, **kwargs)


#: what a family of operations declares
Declared = Function | PythonMethod
#: what a name stands for
Callee = Function | InplaceFunction | PythonMethod
