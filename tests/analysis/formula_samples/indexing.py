"""Shapes, indexing, padding: negative dimensions, scalars, masks, repeated positions, and the steps of second derivatives."""

from __future__ import annotations

from typing import Any

from gradcli.core.functions.function import Sample

_S: Any = 1.5
_V: Any = [0.5, -1.5, 2.5, 4.0]
_M: Any = [[1.0, 2.5, 3.0], [4.0, 0.5, 6.0]]
_N: Any = [[7.0, 8.0, 1.5], [0.25, 2.0, 9.0]]
_C: Any = [[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 1.5, 2.5, 3.5]], [[0.5, 1.0, 1.5, 2.0], [4.5, 5.5, 6.5, 7.5], [3.0] * 4]]


def _of(texts: str, **inputs: Any) -> tuple[Sample, ...]:
    """One sample for each line of the text."""
    return tuple(Sample(text.strip(), **inputs) for text in texts.strip().splitlines())


def _second(text: str, **inputs: Any) -> Sample:
    """The gradient of `text` for x along y, as a function of y."""
    return Sample(f"torch.autograd.grad({text}, x, y, create_graph=True)[0]", **inputs)


def _third(text: str, **inputs: Any) -> Sample:
    """The gradient for x, times y, differentiated for y again and multiplied by x: a function of x."""
    return Sample(f"torch.autograd.grad(torch.autograd.grad({text}, x, y, create_graph=True)[0], y, x, create_graph=True)[0]", **inputs)


SHAPES = (
    *_of(
        """
        x.permute(1, 2, 0)
        x.permute(-1, 0, -2)
        x[:, :, :1].expand(2, 3, 5)
        x[:1].expand(4, 2, 3, 4)
        x.repeat(2, 1, 3)
        x.repeat(2, 3, 1, 1, 2)
        x.repeat(1, 0, 1)
        x.roll(5)
        x.roll((1, -2), (0, -1))
        x.roll((1, 1), (1, 1))
        x.diagonal(1, -1, 0)
        x.diagonal(-1, 1, 2)
        x.diagonal(7)
        x.unfold(-1, 3, 1)
        x.unfold(0, 2, 1)
        x.unfold(1, 0, 2)
        """,
        x=_C,
    ),
    *_of("x.permute(())\nx.expand(2, 2)\nx.repeat(2, 2)\nx.repeat(())\nx.roll(1)\nx.unfold(0, 1, 1)\nx.unsqueeze(0).expand(0)", x=_S),
    *_of("x.diag(1)\nx.diag(-1)\nx.trace()\nx.t().trace()\nx[:, :1].trace()\nx[:0].trace()", x=_M),
    *_of(
        """
        x.as_strided((2, 2), (1, 1))
        x.as_strided((2, 2), (3, 1), 1)
        x.as_strided((3, 2), (0, 2))
        x.t().as_strided((2, 2), (3, 1))
        x.as_strided((), (), 4)
        x.as_strided((0, 2), (1, 1))
        x[1].as_strided((2, 2), (1, 1), 3)
        x[:, :1].expand(2, 3).as_strided((2, 2), (3, 0))
        x[:1].expand(2, 3).as_strided((3,), (1,))
        """,
        x=_M,
    ),
    *(
        _second(text, x=_M, y=_N[0][:2])
        for text in (
            "x.diagonal()",
            "x[:, 1]",
            "x[:, -1]",
            "x.as_strided((2,), (2,), 1)",
            "x.t().as_strided((2,), (2,))",
            "x[:, :1].expand(2, 3).as_strided((2,), (3,))",
            "x.masked_select(x > 3.5)[:2]",
        )
    ),
    _third("x.as_strided((2,), (2,), 1)", x=_M, y=_N[0][:2]),
    _third("x[:, :1].expand(2, 3).as_strided((2,), (3,))", x=_M, y=_N[0][:2]),
    *(_second(text, x=_M, y=[_N[0][:2], _N[1][:2]]) for text in ("x[:, ::2]", "x.t()[1:].t()", "x[..., -2:]")),
    _second("x.unfold(1, 2, 1)", x=_M, y=[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]),
)

PARTS = (
    *_of(
        """
        x[1]
        x[-1, ..., -2]
        x.select(-2, -1)
        x[:, 1:]
        x[..., -3:-1]
        x[:, 2:1]
        x[:, :, ::3]
        x.narrow(-1, 1, 2)
        x.unbind(-2)
        x.split(2, -1)
        x.split(3, -1)
        x.split((0, 1, 2), 1)
        x.chunk(2, -2)
        x.tensor_split((1, 3), -1)
        x.select_scatter(y[0], -3, -1)
        x.select_scatter(y[:, 1], 1, 0)
        x.slice_scatter(y[:, :, 1:], -1, 1)
        x.slice_scatter(y[:, :, ::2], 2, None, -1, 2)
        x.slice_scatter(y[:, 2:], 1, -1)
        x.diagonal_scatter(y[0, :2].t(), 0, 0, 1)
        x.diagonal_scatter(y.diagonal(1, -1, 0), 1, -1, 0)
        """,
        x=_C,
        y=_C,
    ),
    *_of(
        """
        cat((x, y, x), -1)
        cat((x, y[:0], y[1:]))
        cat((x, tensor([]), y))
        stack((x, y), -1)
        stack((x, y, x), 1)
        block_diag(x, y[0], y[1, 1], x[:0], y.t())
        hstack((x, y))
        dstack((x, y))
        """,
        x=_M,
        y=_N,
    ),
    *_of("x.unbind()[1]\nx.split(3)[1]\nx.split((1, 3))[0]\ncat((x, x))\nblock_diag(x)\nx.select_scatter(x[0] * 2, 0, 1)", x=_V),
    *_of("F.pad(x, (1, 2))\nF.pad(x, (1, -1, -1, 2))\nF.pad(x, (0, 0, 3, 0), value=1.5)\nF.pad(x, (-1, -1))\nF.pad(x, ())", x=_M),
)

POSITIONS = (
    *_of(
        """
        x[tensor([1, 1, 0])]
        x[:, tensor([0, 2, 2])]
        x[tensor([[0, 1], [1, 1]]), :, tensor([3, 0])]
        x[..., tensor([-1, 0, -1])]
        x[:, tensor([[True, False, True, True], [False, False, True, False], [True, True, False, False]])]
        x[x > 3]
        x[tensor([True, False]), 1:]
        x[None, [0, 1], None, 2]
        x[True]
        x[False]
        x[:, []]
        x.index_put((tensor([1, 0]),), y)
        x.index_put((tensor([1, 1]),), y, True)
        x.index_put((tensor([0, 1]), tensor([2, 2])), y[0, 0])
        x.index_put((tensor([0, 1]), tensor([2, 2])), y[0, 0], True)
        x.index_put((x > 3,), y[0, 0, 0])
        x.index_put((x > 3,), y[0, 0, 0], True)
        x.masked_select(x > 2)
        x[:1].masked_select(x > 2)
        x.masked_select(tensor([True, False, False, True]))
        x.masked_scatter(x > 2, y)
        x.masked_scatter(tensor([True, False, False, True]), y[:, :, 1:])
        x[0, 0].masked_scatter(x > 4, y)
        x.take(tensor([[0, -1], [5, 5]]))
        x.put(tensor([3, 0]), y[0, 0, :2])
        x.put(tensor([[3], [3]]), y[0, :2, :1], accumulate=True)
        x.gather(-1, tensor([[[0, 0, 3]]]))
        x.gather(0, tensor([[[1, 0, 0, 1]], [[0, 0, 0, 0]]]))
        x.index_select(-1, tensor([1, 1, 0]))
        x.index_select(0, tensor([1]))
        """,
        x=_C,
        y=_C,
    ),
    *_of(
        """
        x[None]
        x[True]
        x.gather(0, tensor(0))
        x.gather(0, tensor([0, 0]))
        x.index_select(0, tensor([0]))
        x.take(tensor([0, 0]))
        x.put(tensor([0]), x.reshape(1) * 2)
        x.masked_select(tensor(True))
        x.masked_scatter(tensor([True, False]), x.expand(2))
        """,
        x=_S,
    ),
    *_of(
        """
        F.embedding(tensor([[1, 0], [1, 1]]), x)
        F.embedding(tensor(1), x)
        F.embedding(tensor([0, 1, 1]), x, padding_idx=-1)
        F.embedding(tensor([0, 1, 1]), x, scale_grad_by_freq=True)
        F.embedding(tensor([[0, 1, 1]]), x, 0, scale_grad_by_freq=True)
        """,
        x=_M,
    ),
    *(
        derived(f"F.embedding(tensor([1, 1]), x{more})", x=_M, y=_N)
        for derived in (_second, _third)
        for more in ("", ", padding_idx=1", ", scale_grad_by_freq=True", ", padding_idx=0, scale_grad_by_freq=True")
    ),
    *(
        _second(text, x=_M, y=_N)
        for text in (
            "x[tensor([1, 1])]",
            "x[:, tensor([0, 2, 2])]",
            "x[x > 0].reshape(2, 3)",
            "x.gather(1, tensor([[0, 0, 2], [1, 2, 1]]))",
            "x.index_select(1, tensor([0, 2, 2]))",
            "x.take(tensor([[0, 5, 5], [1, 2, 1]]))",
            "F.pad(x, (1, -1))",
            "x.masked_scatter(x > 3, x * 1)",
        )
    ),
)

_INDEX = "tensor([[0, 1, 0], [0, 0, 1]])"
_TIES: Any = [[1.0, 2.5, 7.0], [0.25, 0.5, 9.0]]
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
_OPTIONS = [(reduce, self) for reduce in _REDUCTIONS for self in ("", ", include_self=False")]

REDUCED = (
    *(Sample(f"x.scatter_reduce(0, {_INDEX}, y, '{reduce}'{self})", x=_M, y=_N) for reduce, self in _OPTIONS),
    *(Sample(f"x.scatter_reduce(0, {_INDEX}, y, '{reduce}'{self})", x=_TIES, y=_TIES) for reduce, self in _OPTIONS),
    *(Sample(f"x.scatter_reduce(-1, tensor([[0, 0]]), y[:1, 1:], '{reduce}'{self})", x=_M, y=_N) for reduce, self in _OPTIONS),
    *(Sample(f"x.scatter_reduce(0, tensor([0, 0]), y, '{reduce}'{self})", x=_S, y=_N[0][:2]) for reduce, self in _OPTIONS),
    *(Sample(f"x.scatter_reduce(0, tensor(1), y, '{reduce}'{self})", x=_V, y=_S) for reduce, self in _OPTIONS),
    # the index covers only a part of src, so only x has a gradient
    *(Sample(f"x.scatter_reduce(0, tensor([[0, 1]]), y.detach(), '{reduce}')", x=_M, y=_N) for reduce in ("sum", "mean")),
    # one zero, two zeros, a zero in the input
    *(
        Sample(f"x.scatter_reduce(1, tensor([[0, 0, 1], [0, 0, 0]]), y, 'prod'{self})", x=x, y=[[0.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
        for self in ("", ", include_self=False")
        for x in (_M, [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    ),
)

SAMPLES: tuple[Sample, ...] = (*SHAPES, *PARTS, *POSITIONS, *REDUCED)
