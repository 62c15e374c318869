"""The declaration of functions in `torch.fft`."""

from __future__ import annotations

from typing import Any

from gradcli.core.calling.overloads import Parser
from gradcli.core.functions import out_arguments
from gradcli.core.functions.function import Function, Overload
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


class FourierFunction(Function):
    """A function of torch.fft: its argument errors call it `fft_NAME`."""

    __slots__ = ()

    def __init__(self, name: str, *overloads: Overload, **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.fft", method=False, **more)

    def _into(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """With `out=`: the graph is looked at last, and the dtype of `out` first for a transform of real numbers along one dimension."""
        signature, values = self.parser.find(args, kwargs)
        out, input = values[signature.out_at], values[0]
        if type(input) is not Tensor or type(out) is not Tensor:
            return super()._into(args, kwargs)
        values.pop(signature.out_at)
        real = self.name.startswith(("hfft", "irfft"))
        one = self.name[-1] == "t"
        if one and (real or not input.dtype.is_complex):
            self._check_out(out, real)
        result = signature.implementation(*values)
        if self.name in ("ihfft2", "ihfftn") and len(next((v for v in values[2:0:-1] if v is not None), input.array.shape)) == 1:
            raise runtime_error(f"{self.name} along one dimension into `out`, which PyTorch does not write, is not part of gradcli")
        self._check_out(out, real)
        name, tensors = self._last_step(one, real, input), [input, out]
        out_arguments.check_no_graph(name, tensors, True, out)
        made = out_arguments.write(name, out, result, tensors)
        out_arguments.check_no_tangent(name, tensors, True)
        return made

    def _check_out(self, out: Tensor, real: bool) -> None:
        if not (out.dtype.is_floating_point if real else out.dtype.is_complex):
            name = self.name if self.name[-1] == "t" else f"{self.name[:-1]}n".replace("ifftn", "fftn")
            kind = "floating point" if real else "complex"
            raise runtime_error(f"{name} expects a {kind} output tensor, but got {out.dtype.torch_name}")

    def _last_step(self, one: bool, real: bool, input: Tensor) -> str:
        """The operator of PyTorch that writes the result."""
        if real:
            return "_fft_c2r"
        if self.name.startswith("rfft") or (self.name == "fft" and not input.dtype.is_complex):
            return "_fft_r2c"
        return "conj_physical" if one and not input.dtype.is_complex else "_fft_c2c"

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = Parser(f"fft_{self.name}", self._signatures())
        return self._parser
