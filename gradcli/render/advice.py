"""What to write instead, for errors whose text is PyTorch's: shown with the diagnostic, never part of the error itself."""

from __future__ import annotations

import re

from gradcli.errors import GradcliError, ProgramError

#: pattern of "Type: message", advice. The first that matches is taken
_TABLE = [
    (r"TypeError: unsupported operand type\(s\) for \^:|NotImplementedError: \"bitwise_xor_cpu\"", "use ** for powers; ^ is exclusive or"),
    (r"RuntimeError: Only Tensors of floating point .* can require grad", "write 1. instead of 1, or give dtype=torch.float32"),
    (r"RuntimeError: grad can be implicitly created only for", "use y.sum().backward(), or weights: y.backward(torch.ones_like(y))"),
    (
        r"RuntimeError: element \d+ of tensors does not require grad",
        "nothing it was computed from requires grad: look for a missing requires_grad=True, for no_grad() and for detach()",
    ),
    (r"RuntimeError: a (view of a )?leaf Variable that requires grad", "do it in a block with torch.no_grad(), or make a new tensor"),
    (r"RuntimeError: Trying to backward through the graph a second", "use backward(retain_graph=True) the first time"),
    (
        r"RuntimeError: one of the variables needed for gradient computation has been modified",
        "make a new tensor, y = y + 1 instead of y += 1, or change a copy, y.clone()",
    ),
    (r"RuntimeError: Can't call numpy\(\) on Tensor that requires grad", "x.detach().numpy() leaves the graph out"),
    (r"RuntimeError: you can only change requires_grad flags of leaf", "y.detach() has the same values and no graph"),
    (r"RuntimeError: can't retain_grad on Tensor that has requires_grad=False", "only tensors that require grad get a gradient"),
    (r"RuntimeError: One of the differentiated Tensors appears to not", "allow_unused=True gives None for it"),
    (r"RuntimeError: One of the differentiated Tensors does not require grad", "make it with requires_grad=True"),
    (r"RuntimeError: Inference tensors cannot be saved for backward", "use no_grad() instead of inference_mode()"),
    (r"\w+Error: .*[Bb]oolean value of Tensor with more than one value", "use torch.where(condition, a, b), or .any() or .all()"),
    (r"\w+Error: (only one element tensors|a Tensor with \d+ elements) can", "use .tolist() for all numbers"),
    (r"RuntimeError: mat1 and mat2 shapes cannot be multiplied", "columns of the first must be rows of the second; .T may help"),
    (r"RuntimeError: The size of tensor a", "sizes are compared from the last: equal, or 1, as x[:, None] makes it"),
    (r"RuntimeError: (expected m1 and m2 to have the same dtype|.*expected scalar type|Found dtype)", "use .float(), or .to(other.dtype)"),
    (r"RuntimeError: result type \w+ can't be cast to the desired output type", "make the tensor floating first: x = x.float()"),
    (r"RuntimeError: \w+\(\): could not infer output dtype", "make it floating first: x.float()"),
    (r"TypeError: 'torch.Size' object is not callable", "shape is no method: leave out the parentheses"),
]
_COMPILED = [(re.compile(pattern), advice) for pattern, advice in _TABLE]

_NO_GRAD_YET = ".grad is None before backward(), and always for what is no leaf unless retain_grad() was called"


def advice(error: GradcliError) -> list[str]:
    """Lines of advice for an error that brings none of its own."""
    if not isinstance(error, ProgramError):
        return []
    text = f"{error.kind}: {error.message}"
    if "'NoneType'" in text and error.span is not None and ".grad" in _line(error):
        return [_NO_GRAD_YET]
    return next(([advice] for pattern, advice in _COMPILED if pattern.match(text)), [])


def _line(error: GradcliError) -> str:
    """The line where the error is."""
    assert error.span is not None
    source = error.span.source
    return source.line(source.position(error.span.start)[0])
