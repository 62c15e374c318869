"""The declaration of functions in `torch.fft`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcli.core.functions.function import Function, Overload
from gradcli.core.functions.out import Out
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import runtime_error


class FourierFunction(Function):
    """A function of torch.fft: its argument errors call it `fft_NAME`."""

    __slots__ = ()
    PREFIX = "fft_"

    def __init__(self, name: str, *overloads: Overload, **more: Any) -> None:
        super().__init__(name, *overloads, namespace="torch.fft", method=False, **more)


def fourier_out(name: str) -> Callable[..., Out]:
    """How the transform `name` takes `out`: PyTorch makes it of operators, the last of which refuses graphs."""
    real = name.startswith(("hfft", "irfft"))
    one = name[-1] == "t"

    def check(out: Tensor) -> None:
        if not (out.dtype.is_floating_point if real else out.dtype.is_complex):
            called = name if one else f"{name[:-1]}n".replace("ifftn", "fftn")
            kind = "floating point" if real else "complex"
            raise runtime_error(f"{called} expects a {kind} output tensor, but got {out.dtype.torch_name}")

    def rule(input: Tensor, sizes: Any, dims: Any, norm: str | None) -> Out:
        def check_last(out: Tensor, result: Tensor) -> None:
            given = dims if dims is not None else sizes if sizes is not None else input.array.shape
            if name in ("ihfft2", "ihfftn") and len(given) == 1:
                raise runtime_error(f"{name} along one dimension into `out`, which PyTorch does not write, is not part of gradcli")
            check(out)

        from_real = not input.dtype.is_complex
        first = one and (real or from_real)
        if real:
            operator = "_fft_c2r"
        elif name.startswith("rfft") or (name == "fft" and from_real):
            operator = "_fft_r2c"
        else:
            operator = "conj_physical" if first else "_fft_c2c"
        return Out(
            operator=operator,
            autograd="fallback" if operator == "conj_physical" else "derivative",
            last_step=operator == "conj_physical",
            late=True,
            inspect=(lambda values, out: check(out)) if first else None,
            check=check_last,
        )

    return rule
