"""Scripts that make a call and print all that can be seen of it, fact by fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.comparison.calls import Call

#: names of values that nodes save
_SAVED = """
    A L LU N Q R S U Vh adjoint alpha approximate beta bias buffer ceil_mode condition correction delta diagonal dilation dim dim0
    dim1 dim2 dims eigenvalues eigenvectors eps exponent grad_output groups ignore_index include_self index indices input input2
    inverse keepdim kernel_size lambd left log_sumexp margin mask mat1 mat2 max mean min mode n negative_slope normalized_shape offset
    other output output_padding output_size p pad padding pivot pivots reduce reduction repeats result result0 result1 result2
    rounding_mode running_mean scale self self_sym_argsize_minus_1 self_sym_argsize_minus_2 self_sym_numel self_sym_sizes
    self_sym_strides shifts size sorted_sequence source src start step storage_offset stride target tensor1 tensor2 threshold
    total_weight train transposed upper upscale_factor value values vec weight weights
""".split()  # noqa: SIM905

#: the functions that scripts of `script` call; each fact begins with a line `## fact`
PRELUDE = f"""
import math
from math import inf, nan
import torch
import torch.nn.functional as F
import torch.autograd.forward_ad as forward_ad
SAVED = {tuple(f"_saved_{name}" for name in _SAVED)!r}
def flat(y):
    if isinstance(y, torch.Tensor):
        return [y]
    if isinstance(y, (tuple, list)):
        return [t for v in y for t in flat(v)]
    return []
def fact(name, read):
    print('##', name)
    try:
        print(read())
    except Exception as e:
        print(type(e).__name__ + ':', e)
def weights(t):
    return torch.arange(1, t.numel() + 1).to(t.dtype).reshape(t.shape)
def show_values(y):
    ts = flat(y)
    fact('value', lambda: y)
    fact('dtype', lambda: [t.dtype for t in ts])
    fact('shape', lambda: [tuple(t.shape) for t in ts])
    fact('strides', lambda: [t.stride() for t in ts])
def edges(n):
    return [(m and m.name(), i) for m, i in n.next_functions]
def saved(n):
    return [(s, getattr(n, s)) for s in SAVED if hasattr(n, s)]
def show_graph(y):
    ts = flat(y)
    fact('graph', lambda: [(t.requires_grad, t.is_leaf, t.grad_fn and t.grad_fn.name()) for t in ts])
    fact('edges', lambda: [edges(t.grad_fn) for t in ts if t.grad_fn])
    fact('saved', lambda: [saved(t.grad_fn) for t in ts if t.grad_fn])
def gradients(ys, leaves, create_graph):
    return torch.autograd.grad(ys, leaves, [weights(t) for t in ys], allow_unused=True, create_graph=create_graph)
def show_gradients(y, leaves):
    ys = [t for t in flat(y) if t.requires_grad]
    if not ys or not leaves:
        return
    try:
        first = gradients(ys, leaves, True)
    except Exception as e:
        fact('gradient', lambda: type(e).__name__ + ': ' + str(e))
        return
    fact('gradient', lambda: first)
    fact('gradient layout', lambda: [g is not None and (g.dtype, g.stride()) for g in first])
    seconds = [g for g in first if g is not None and g.requires_grad]
    if seconds:
        show_second(seconds, leaves)
def show_second(seconds, leaves):
    try:
        found = gradients(seconds, leaves, False)
    except Exception as e:
        fact('second', lambda: type(e).__name__ + ': ' + str(e))
        return
    if any(g is not None for g in found):
        fact('second', lambda: found)
def show_backward(y, leaves):
    ts = [t for t in flat(y) if t.requires_grad]
    if not ts or not leaves:
        return
    try:
        sum((t * weights(t)).sum() + t.sin().sum() for t in ts).backward(retain_graph=True)
        ts[0].sum().backward()
    except Exception as e:
        fact('gradient', lambda: type(e).__name__ + ': ' + str(e))
        return
    fact('gradient', lambda: [leaf.grad for leaf in leaves])
    fact('gradient layout', lambda: [leaf.grad is not None and (leaf.grad.dtype, leaf.grad.stride()) for leaf in leaves])
def tangent(t):
    return forward_ad.unpack_dual(t).tangent
"""

_EPILOGUE = {
    "gradient": "    show_graph(y)\n    show_gradients(y, [{leaves}])",
    "value": "",
    "backward": "    show_graph(y)\n    show_backward(y, [{leaves}])",
    "forward": "    fact('tangent', lambda: [tangent(t) for t in flat(y)])",
}


def script(call: Call) -> str:
    """The script that observes the call, to be run after PRELUDE."""
    lines = ["torch.manual_seed(0)", *call.setup]
    names = [line.partition(" = ")[0] for line in call.setup]
    body = [
        "ok = False",
        "try:",
        f"    y = {call.text}",
        "    ok = True",
        "except Exception as e:",
        "    fact('value', lambda: type(e).__name__ + ': ' + str(e))",
        "if ok:",
        "    show_values([forward_ad.unpack_dual(t).primal for t in flat(y)])" if call.mode == "forward" else "    show_values(y)",
        _EPILOGUE[call.mode].format(leaves=", ".join(call.leaves)),
    ]
    if "z" in names:
        body.append("    fact('written', lambda: (z, z._version))")
    if call.outs:
        watched = ", ".join(call.outs)
        body.append(f"    fact('identity', lambda: [[t is o for o in [{watched}]] for t in flat(y)])")
        body.append(f"    fact('written', lambda: [(o, o._version) for o in [{watched}]])")
        body.append(f"    fact('written layout', lambda: [(o.dtype, tuple(o.shape), o.stride()) for o in [{watched}]])")
    if call.mode == "forward":
        written = ("z", *call.outs)
        # beside an `out` with a tangent the inputs have none
        plain = written if not any("make_dual" in line for line in call.setup) else tuple(names)
        dual = [f"if {n}.is_floating_point():\n    {n} = forward_ad.make_dual({n}, weights({n}))" for n in names if n not in plain]
        late = [line for name, line in zip(names, call.setup, strict=True) if name in written]  # what is made of dual tensors
        lines = [line for line in lines if line not in late]
        body = [*dual, *late, *body]
        body = ["with forward_ad.dual_level():", *("    " + line for part in body for line in part.split("\n"))]
    return "\n".join([*lines, *body]) + "\n"


#: makes the tensors of a script under PyTorch from the same numbers in double precision
WIDE = """
class Wide:
    torch = torch
    def __getattr__(self, name):
        return getattr(Wide.torch, name)
    def tensor(self, *values, **options):
        t = Wide.torch.tensor(*values, **options)
        return (t if options.get("dtype") else t.float()).double() if t.is_floating_point() else t
    def full(self, *values, **options):
        t = Wide.torch.full(*values, **options)
        return t.double() if t.is_floating_point() else t
torch = Wide()
torch.set_default_dtype(torch.float64)  # of what is computed from whole numbers
"""


def case(call: Call, fact: str) -> str:
    """A short script for a casebook that prints the fact of the call."""
    uses = {"import math": "math.", "from math import inf, nan": "inf", "import torch": "", "import torch.nn.functional as F": "F."}
    lines = [line for line, used in uses.items() if used in call.text] + list(call.setup)
    if fact in ("dtype", "shape", "strides"):
        read = {"dtype": "dtype", "shape": "shape", "strides": "stride()"}[fact]
        return "\n".join([*lines, f"y = {call.text}", f"print([t.{read} for t in (y if isinstance(y, (tuple, list)) else [y])])"]) + "\n"
    if fact in ("identity", "written", "written layout") and call.outs:
        watched = ", ".join(call.outs)
        return "\n".join([*lines, f"y = {call.text}", f"print([(y is o, o, o.stride(), o._version) for o in [{watched}]])"]) + "\n"
    if fact in ("graph", "edges", "saved", "gradient", "gradient layout", "second", "tangent", "written"):
        needed = {
            "second": ("flat", "fact", "weights", "gradients", "show_gradients", "show_second"),
            "gradient": ("flat", "fact", "weights", "gradients", "show_gradients", "show_second"),
        }
        return PRELUDE.lstrip("\n") + script(call) if fact not in needed else _with(needed[fact], call, lines)
    return "\n".join([*lines, f"print({call.text})"]) + "\n"


def _with(functions: tuple[str, ...], call: Call, lines: list[str]) -> str:
    parts = [part for part in PRELUDE.split("\ndef ")[1:] if part.partition("(")[0] in functions]
    return "\n".join([*lines, *(f"def {part}" for part in parts), f"show_gradients({call.text}, [{', '.join(call.leaves)}])"]) + "\n"
