"""What to write instead, for errors whose text is PyTorch's: shown with the diagnostic, never part of the error itself."""

from __future__ import annotations

from gradcli.errors import Code, GradcliError, ProgramError
from gradcli.source import Span

_ADVICE = {
    Code.INTEGERS_REQUIRE_GRAD: "write 1. instead of 1, or give dtype=torch.float32",
    Code.IMPLICIT_GRADIENT_OF_MANY: "use y.sum().backward(), or weights: y.backward(torch.ones_like(y))",
    Code.NO_GRAPH: ("nothing it was computed from requires grad: look for a missing requires_grad=True, for no_grad() and for detach()"),
    Code.LEAF_WRITTEN_IN_PLACE: "do it in a block with torch.no_grad(), or make a new tensor",
    Code.GRAPH_FREED: "use backward(retain_graph=True) the first time",
    Code.SAVED_TENSOR_MODIFIED: "make a new tensor, y = y + 1 instead of y += 1, or change a copy, y.clone()",
    Code.NUMPY_OF_REQUIRES_GRAD: "x.detach().numpy() leaves the graph out",
    Code.FLAG_OF_NON_LEAF: "y.detach() has the same values and no graph",
    Code.RETAIN_GRAD_WITHOUT_GRAPH: "only tensors that require grad get a gradient",
    Code.INPUT_WITHOUT_GRAD: "make it with requires_grad=True",
    Code.INFERENCE_TENSOR_SAVED: "use no_grad() instead of inference_mode()",
    Code.TRUTH_OF_MANY: "use torch.where(condition, a, b), or .any() or .all()",
    Code.MANY_ELEMENTS_AS_NUMBER: "use .tolist() for all numbers",
    Code.MATRIX_PRODUCT: "columns of the first must be rows of the second; .T may help",
    Code.BROADCAST: "sizes are compared from the last: equal, or 1, as x[:, None] makes it",
    Code.DTYPES_DIFFER: "use .float(), or .to(other.dtype)",
    Code.RESULT_DTYPE: "make the tensor floating first: x = x.float()",
    Code.NO_OUTPUT_DTYPE: "make it floating first: x.float()",
}
#: advice for some of the operators, kernels and types that errors of these codes are about, by the first of their names
_ADVICE_BY_NAME = {
    (Code.UNSUPPORTED_OPERANDS, "^"): "use ** for powers; ^ is exclusive or",
    (Code.NO_KERNEL, "bitwise_xor_cpu"): "use ** for powers; ^ is exclusive or",
    (Code.NOT_CALLABLE, "torch.Size"): "shape is no method: leave out the parentheses",
}
_NO_GRAD_YET = ".grad is None before backward(), and always for what is no leaf unless retain_grad() was called"


def advice(error: GradcliError) -> list[str]:
    """Lines of advice: the error's own, or those that its kind calls for, and what to write instead where that is sure."""
    instead = [f"write {repair.text.strip()}" for repair in error.repairs[:1] if repair.sure and repair.span is not None]
    return [*(error.hints or _by_code(error)), *instead]


def _by_code(error: GradcliError) -> list[str]:
    if not isinstance(error, ProgramError):
        return []
    if "NoneType" in error.names and error.span is not None and ".grad" in _line(error):
        return [_NO_GRAD_YET]
    if error.code is None:
        return []
    found = _ADVICE.get(error.code) or _ADVICE_BY_NAME.get((error.code, error.names[0] if error.names else ""))
    return [found] if found else []


def of_warning(span: Span | None) -> str:
    """Advice on a warning about the text at `span`; "" for none."""
    if span is not None and span.text.endswith(".grad"):
        owner = " ".join(span.text.removesuffix(".grad").split())
        if not owner.isidentifier():
            owner = "name it: y"
        return f"{owner}.retain_grad() before backward() keeps it; gradcli grad --all and gradcli explain show every gradient"
    return ""


def _line(error: GradcliError) -> str:
    """The line where the error is."""
    assert error.span is not None
    source = error.span.source
    return source.line(source.position(error.span.start)[0])
