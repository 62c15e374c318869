"""Which overload of a function fits a call: tried in order, as PyTorch does it, and remembered by the types of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.calling import warnings
from gradcli.core.calling.signature import Signature, language
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.state import state
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import Code, GradcliError, ProgramError

#: parameter types for which the argument's type alone decides
_BY_TYPE = {
    "Tensor": (Tensor,),
    "Operand": (Tensor, float, int, bool),
    "Number": (float, int, bool),
    "float": (float,),
    "int": (int,),
    "symint": (int,),
    "bool": (bool,),
    "str": (str,),
    "any": (),
}


def _made_in_inference(made: Any, given: Sequence[Any]) -> Any:
    """The result of a call in inference mode: its tensors are inference tensors, but for those that were given and views."""
    if type(made) is Tensor:
        if made.view is None and made.version is None and not made.property_of("inference") and all(made is not one for one in given):
            made.set_property("inference", True)
    elif isinstance(made, (tuple, list)):
        for one in made:
            _made_in_inference(one, given)
    return made


def is_wide(args: Sequence[Any]) -> bool:
    """Whether a whole number is among the arguments that 64 bits do not hold, which only binding refuses or converts."""
    return any(type(a) is int and not -1 << 63 <= a < 1 << 63 for a in args)


class Parser:
    """The overloads of one function or method; remembers which fits a tuple of argument types."""

    __slots__ = ("name", "signatures", "records", "cache")

    def __init__(self, name: str, signatures: list[Signature], records: Sequence[Any] = ()) -> None:
        self.name = name
        #: the operation records of the function
        self.records = records
        self.signatures = signatures
        #: for the types of arguments: the implementation, the values of the other parameters, whether whole numbers are among the arguments
        self.cache: dict[Any, tuple[Callable[..., Any], tuple[Any, ...], bool]] = {}

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], first: tuple[Any, ...] = ()) -> Any:
        """Find the overload and call its implementation; `first` goes before the parsed arguments (a method's self)."""
        if not kwargs:
            key = tuple(map(type, args))
            known = self.cache.get(key)
            if known is not None and not (known[2] and is_wide(args)):
                try:
                    made = known[0](*first, *args, *known[1])
                    return made if not state.inference else _made_in_inference(made, (*first, *args))
                except Exception as error:
                    return self.after(error, known[0], (*first, *args, *known[1]))
        signature, values = self.find(args, kwargs)
        if not kwargs:
            self._remember(key, signature, args)
        if signature.out_at >= 0:
            values.pop(signature.out_at)
        try:
            made = signature.implementation(*first, *values)
            return made if not state.inference else _made_in_inference(made, (*first, *values))
        except Exception as error:
            return self.after(error, signature.implementation, (*first, *values))

    def after(self, error: Exception, run: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """What a call gives after an error: the results by samples, where `run` asks for the elements of a batched tensor."""
        if state.mapped and isinstance(error, ProgramError):
            if error.code is Code.NEEDS_SAMPLES:
                return state.mapped[-1].by_samples(run, args, error)
            error = state.mapped[-1].of_batch(self.name, run, args, error)
        raise self._failed(error, args) from None

    def _failed(self, error: Exception, args: tuple[Any, ...]) -> Exception:
        """PyTorch's error of a function that refuses complex tensors, where numpy or a record has refused one; else the error itself."""
        flat = [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,))]
        tensors = [t for t in args if type(t) is Tensor]
        if any(t.meta is not None for t in tensors) and isinstance(error, ProgramError):
            for record in self.records:
                if len(record.tensors) == len(tensors) and not record.variadic:
                    record.check_saved(tensors)
        kinds = [dtypes.result_type(tuple(tensors))] if any(t.dtype.is_complex for t in tensors) else []
        kinds += [t.dtype for t in flat if type(t) is Tensor and t.dtype.is_complex]
        kinds += [dtypes.result_type((*tensors, t)) for t in flat if type(t) is complex]
        kinds += [t for t in flat if type(t) is dtypes.DType and t.is_complex]
        if not kinds or (isinstance(error, GradcliError) and getattr(error, "code", None) is not Code.NO_KERNEL):
            return error
        from gradcli.core.calling import complex_refusals  # most calls are right

        known = complex_refusals.knows(self.name) or not isinstance(error, ProgramError)
        return complex_refusals.refusal(self.name, kinds[0]) if known else error

    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Signature, list[Any]]:
        """The first overload that fits, and its values; PyTorch's TypeError if none does."""
        if len(self.signatures) == 1:
            only = self.signatures[0]
            values = only.bind(self.name, args, kwargs, True)
            assert values is not None
            return only, values
        for signature in self.signatures:
            values = signature.bind(self.name, args, kwargs, False)
            if values is not None:
                if signature.deprecated:
                    self._warn(signature)
                return signature, values
        raise self._no_match(args, kwargs)

    def _offered(self) -> list[str]:
        return [s.shown() for s in self.signatures if not s.deprecated]

    def _warn(self, used: Signature) -> None:
        offered = "".join(f"\n\t{self.name}{text}" for text in self._offered())
        warnings.emit(
            f"This overload of {self.name} is deprecated:\n\t{self.name}{used.shown()}\nConsider using one of the following signatures "
            f"instead:{offered} (Triggered internally at /__w/pytorch/pytorch/torch/csrc/utils/python_arg_parser.cpp:1841.)",
            once="deprecated overload",
        )

    def _remember(self, key: Any, signature: Signature, args: tuple[Any, ...]) -> None:
        parameters = signature.parameters[: len(args)]
        if (
            signature.deprecated
            or len(parameters) != len(args)
            or not all(type(a) in _BY_TYPE.get(p.type, ()) for p, a in zip(parameters, args, strict=True))
        ):
            return
        if signature is not self.signatures[0] and any(type(a) is Tensor and a.array.ndim == 0 for a in args):
            return  # a 0-d tensor may stand for a number in an earlier overload
        if any(
            type(a) is Tensor and i < len(s.parameters) and s.parameters[i].type in ("Number", "float", "int", "symint")
            for s in self.signatures[: self.signatures.index(signature)]
            for i, a in enumerate(args)
        ):
            return
        rest = enumerate(signature.parameters)
        defaults = tuple(p.default for i, p in rest if i >= len(args) and i != signature.out_at)
        self.cache[key] = (signature.implementation, defaults, int in key)

    def _no_match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgramError:
        count = len(args) + len(kwargs)
        plausible = [s for s in self.signatures if not s.deprecated and s.min_args <= count <= len(s.parameters)]
        if len(plausible) == 1:
            plausible[0].bind(self.name, args, kwargs, True)
        from gradcli.core.calling import argument_errors  # most calls are right

        text = argument_errors.describe(self._offered(), args, kwargs, language.type_name)
        return ProgramError("TypeError", f"{self.name}() received an invalid combination of arguments - {text}")
