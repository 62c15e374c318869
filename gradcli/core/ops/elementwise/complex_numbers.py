"""Functions of complex numbers. Tensors here are real, so that these functions are constant or return their input."""

from __future__ import annotations

import numpy as np

from gradcli.core.functions.function import Function, Sample
from gradcli.core.graph import in_place
from gradcli.core.graph.pointwise import Pointwise
from gradcli.core.graph.record import Op, Rule
from gradcli.core.kernels import Array
from gradcli.core.ops.rules import UNCHANGED
from gradcli.core.tensor.tensor import Tensor, wrap
from gradcli.errors import runtime_error

CONJ_PHYSICAL = Op("ConjPhysicalBackward1", lambda a: a, "input", input=UNCHANGED)


def _conj_physical_(input: Tensor) -> Tensor:
    return in_place.apply(input, lambda t: CONJ_PHYSICAL(t))


def _angle(x: Array) -> Array:
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


ANGLE = Pointwise(
    "AngleBackward0",
    lambda x: _angle(np.asarray(x)),
    "input",
    saved="self",
    kind="float",
    input=Rule(lambda xp, grad: xp.zeros_like(grad), "zeros_like(grad)"),
)


def _imag(input: Tensor) -> Tensor:
    raise runtime_error("imag is not implemented for tensors with non-complex dtypes.")


_X = [1.0, -2.0]


def _never(name: str, what: str) -> Function:
    return Function(name, ("Tensor input", lambda t: False), doc=f"Whether {what}: never here.", samples=(Sample(f"tensor(1.).{name}()"),))


def _same(name: str, doc: str, *samples: Sample, method: bool = True) -> Function:
    function = ("Tensor input", lambda t: t)
    return Function(name, function, doc=doc, method=method, samples=samples or (Sample(f"torch.{name}(x)", np.copy, x=_X),))


FUNCTIONS = (
    _never("is_conj", "the conjugation is still to be done"),
    _never("is_neg", "the negation is still to be done"),
    _same("resolve_conj", "The tensor itself: there is no conjugation to be done."),
    _same("resolve_neg", "The tensor itself: there is no negation to be done."),
    _same("conj_physical", "The tensor itself: it is real."),
    Function(
        "conj_physical_",
        ("Tensor input", _conj_physical_),
        doc="Conjugated in place: a real tensor stays.",
        ops=(CONJ_PHYSICAL,),
        samples=(Sample("(x * 1).conj_physical_()", np.copy, x=_X),),
    ),
    Function(
        "imag",
        ("Tensor input", _imag),
        doc="The imaginary part, which a real tensor has not.",
        method=False,
        samples=(Sample("torch.is_complex(tensor(1.))"),),
    ),
    Function(
        "angle",
        ("Tensor input", lambda x: ANGLE(x)),
        doc="0 for positive numbers, pi for negative ones.",
        ops=(ANGLE,),
        samples=(Sample("angle(x)", lambda x: np.where(x < 0, np.pi, 0), x=_X),),
        out=True,
    ),
    Function(
        "isreal",
        ("Tensor input", lambda x: wrap(np.equal(x.array, x.array) | True)),
        doc="Whether elements have no imaginary part: all have none.",
        samples=(Sample("torch.isreal(tensor([1., -math.inf]))"),),
    ),
    _same("real", "The input itself, which has no imaginary part.", Sample("torch.real(tensor([1., -math.inf]))"), method=False),
    _same("conj", "The input itself, which has no imaginary part.", Sample("torch.conj(tensor([1., -math.inf]))")),
)
