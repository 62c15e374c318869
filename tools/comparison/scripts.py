"""Short scripts of several statements: views, in-place writes, gradients of two orders, and questions to autograd, by a seeded generator.

    python -m tools.comparison.scripts --torch-python VENV/bin/python -n 1000 --seed 1

Each statement stands in a `try`, so that a script goes on after an error. What differs is printed, from the first fact that differs on.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter

from tests.conformance import harness
from tools.comparison import verdicts
from tools.comparison.children import Child

#: views, and what looks like one, of a tensor `{a}`
VIEWS = """
{a}.t()|{a}[0]|{a}[:, 1:]|{a}[::2]|{a}.view(-1)|{a}.reshape(-1)|{a}.reshape(3, 2)|{a}.expand(2, *{a}.shape)|{a}.unsqueeze(0)|{a}.squeeze()
{a}.diagonal()|{a}.unbind()[0]|{a}.split(1)[-1]|{a}.chunk(2)[0]|{a}.detach()|{a}.permute(1, 0)|{a}.flatten()|{a}.narrow(0, 0, 1)|{a}.T
{a}.mT|{a}.unfold(0, 2, 1)|{a}.movedim(0, 1)|{a}.data|{a}.clone()|{a}.contiguous()|{a}.as_strided((2, 2), (1, 1))|{a}.select(1, 1)
{a}.view_as({b})|{a}.expand_as({b})|{a}[None]|{a}[..., 0]|{a}[1:]|{a}[-1]|{a}.unsqueeze(-1)|{a}.swapaxes(0, -1)|{a}.tensor_split(2)[1]
{a}.reshape({b}.shape)|{a}.broadcast_to(2, 2, 3)|{a}.alias_copy()|torch.atleast_2d({a})|{a}.ravel()|{a}.unflatten(0, (1, -1))
{a}.view(1, -1)
"""
#: new tensors
VALUES = """
{a} * 2|{a} + {b}|{a} * {b}|{a} - {b}|{a} / {b}|{a} @ {b}.T|{a}.exp()|{a}.sin()|{a} ** 2|{a} ** {b}|{a}.sum(0)|{a}.mean()
{a}.max(0).values
{a}.sort().values|{a}[{a} > 0]|{a}[torch.tensor([1, 0])]|torch.where({a} > 0, {a}, {b})|torch.cat([{a}, {b}])|torch.stack([{a}, {b}])
{a}.cumsum(0)|{a}.softmax(-1)|F.relu({a})|{a}.prod()|{a}.norm()|{a}.var()|{a}.std(0)|{a}.abs()|{a}.clamp(-1, 1)|{a}.tanh()|{a}.sigmoid()
{a}.gather(0, torch.tensor([[0, 1, 0]]))|{a}.masked_fill({a} > 1, 0.)|{a}.topk(1).values|{a}.median()|{a}.tril()|{a}.logsumexp(0)
{a}.amax(0)
{a}.roll(1)|{a}.flip(0)|{a}.repeat(2, 1)|{a}.double()|{a}.index_select(0, torch.tensor([0, 0]))|{a}.sqrt()|{a}.log()|{a}.max()
1 / {a}|-{a}
{a}.index_add(0, torch.tensor([0, 1]), {b})|{a}.scatter(0, torch.tensor([[0, 1, 0]]), {b})|{a}.mm({b}.t())|{a}.dot({b})|{a}.matmul({b})
F.mse_loss({a}, {b})|F.layer_norm({a}, (3,))|torch.outer({a}, {b})|{a}.cumprod(0)|{a}.square().sum()|{a}.mul({b}).sum()|F.softplus({a})
torch.einsum('ij,ij->i', {a}, {b})|{a}.take(torch.tensor([0, 1]))|{a}.minimum({b})|{a}.atan2({b})|{a}.lerp({b}, 0.3)
torch.addcmul({a}, {b}, {b})
{a}.detach() * {b}|{a}.float()|{a}.type_as({b})|{a}.new_zeros(2)|torch.zeros_like({a})|torch.ones_like({a}, requires_grad=True)|{a}.sign()
"""
#: statements that write to `{a}`
WRITES = """
{a}.add_(1)|{a}.mul_(2)|{a}.mul_({b})|{a}.zero_()|{a}.fill_(2.)|{a}.copy_({b})|{a}[0] = 1.|{a}[0] = {b}[0]|{a}[{a} > 0] = 0|{a} += {b}
{a}[:, 0] *= 2|{a}.relu_()|{a}.exp_()|{a}.clamp_(0, 1)|{a}.t_()|{a}.squeeze_()|{a}.unsqueeze_(0)|{a}.masked_fill_({a} > 1, 0)|{a}.sin_()
{a}.index_fill_(0, torch.tensor([0]), 3.)|{a}.index_add_(0, torch.tensor([0, 1]), {b})|{a}.scatter_(0, torch.tensor([[0, 1, 0]]), {b})
{a}.detach_()|{a}.requires_grad_()|{a}.sub_({b})|{a}.div_(2)|{a}.pow_(2)|{a}.sigmoid_()|{a}.neg_()|{a}.transpose_(0, 1)|{a}.data.add_(1)
{a} -= 0.1|{a} *= {b}|{a} /= 3|{a}[1:] = {a}[:-1]|{a}[torch.tensor([0, 1])] = {b}|{a}[..., -1] = 5|{a}.detach().mul_(2)
{a}.tanh_()|{a}.abs_()
{a}.addcmul_({b}, {b})|{a}.lerp_({b}, 0.5)|{a}.requires_grad = True|{a}.requires_grad = False|{a}.data = {b}|{a}.sqrt_()|{a}.tril_()
{a}.fill_diagonal_(0)|{a}.index_put_((torch.tensor([0]),), {b}[0])|{a}.masked_scatter_({a} > 0, {b})|{a}.cumsum_(0)|{a}.resize_(2)
{a}[:] = {b}|{a}[0, 0] = {b}.sum()|{a}[0].add_({b}[1])|{a}.view(-1)[0] = 4|{a}.unbind()[0].add_(1)|{a}.swapaxes_(0, 1)
{a}.add_({b}, alpha=2)
"""
#: statements about gradients
GRADIENTS = """
{a}.sum().backward()|{a}.sum().backward(retain_graph=True)|{a}.backward(torch.ones_like({a}))|{a}.backward()|{a}.square().sum().backward()
print(torch.autograd.grad({a}.sum(), {b}))|print(torch.autograd.grad({a}.sum(), {b}, allow_unused=True))|{a}.retain_grad()
g = torch.autograd.grad({a}.pow(3).sum(), {b}, create_graph=True)[0]; print(g); g.sum().backward()|{a}.register_hook(lambda g: g * 2)
g, = torch.autograd.grad({a}.sum(), {b}, create_graph=True, allow_unused=True); print(g, g.grad_fn)|{a}.grad = None|{a}.grad.zero_()
({a} * {b}).sum().backward()|({a} * {b}).sum().backward(create_graph=True)|print({a}.grad, {b}.grad)|{a}.register_hook(print)
print(torch.autograd.grad({a}.sin().sum(), {b}, materialize_grads=True))|{a}.sum().backward(inputs=[{b}])
print({a}.grad_fn(torch.ones_like({a})))
g, = torch.autograd.grad({a}.exp().sum(), {b}, create_graph=True); print(torch.autograd.grad(g.sum(), {b}))|{a}.grad.add_(1)
print(torch.autograd.functional.jacobian(lambda t: t * {b}, {a}))|print(torch.func.grad(lambda t: (t * {b}).sum())({a}))
print(torch.autograd.grad({a}, {b}, torch.ones_like({a}), is_grads_batched=False))|print(torch.func.vmap(lambda t: t * 2)({a}))
"""
#: questions
QUESTIONS = """
print({a})|print({a}.requires_grad, {a}.is_leaf, {a}.grad_fn)|print({a}._version, {b}._version)|print({a}.stride(), {a}.is_contiguous())
print({a}.storage_offset(), {a}.shape)|print({a}._base is {b}, {a}._is_view())|print({a}.grad_fn.next_functions)|print({a}.output_nr)
print({a}.retains_grad)|print({a}.grad_fn.name(), {a}.grad_fn.metadata)|print([n for n, _ in {a}.grad_fn.next_functions])
print({a}.data_ptr() == {b}.data_ptr())|print({a}.equal({b}), {a}.dtype)|print({a}.grad_fn._saved_self)|print({a}.grad_fn._saved_result)
print({a}.tolist())|print({a}.is_set_to({b}))|print({a}.grad_fn._saved_other)|print({a}.sum().item())|print({a}.grad_fn._saved_dim)
print(torch.equal({a}, {b}.detach()))|print({a}.grad is None)|print(repr({a}.detach()))|print(f'{{{a}.mean():.3f}}')|print({a}.nonzero())
"""
_LEAVES = ("torch.tensor([[1., -2., 3.], [0.5, 4., -1.]]{grad})", "torch.arange(6.).view(2, 3){set}", "torch.tensor([0.5, -1.5, 2.]{grad})")
_LEAVES += ("torch.ones(2, 3{grad})", "torch.tensor(1.5{grad})", "torch.full((3, 3), 0.5{grad})", "torch.tensor([[1, 2, 3], [4, 5, 6]])")


def _choices(text: str) -> list[str]:
    return text.strip().replace("\n", "|").split("|")


_KINDS = [_choices(text) for text in (VIEWS, VALUES, WRITES, GRADIENTS, QUESTIONS)]


def statements(number: int, seed: int) -> list[str]:
    """The statements of a script: the same for the same seed."""
    rng = random.Random(f"{seed} {number}")
    names = ["x", "y"]
    made = []
    for name in names:
        grad = rng.random() < 0.7
        leaf = rng.choice(_LEAVES[:2] * 3 + _LEAVES)
        if "4, 5, 6" in leaf:
            grad = False
        text = leaf.format(grad=", requires_grad=True" if grad else "", set=".requires_grad_()" if grad else "")
        made.append(f"{name} = {text}")
    for _ in range(rng.randint(3, 7)):
        kind = rng.choices(range(5), (5, 5, 5, 5, 3))[0]
        weights = range(1, len(names) + 1)
        a, b = rng.choices(names, weights)[0], rng.choice(names)
        text = rng.choice(_KINDS[kind]).format(a=a, b=b)
        if kind < 2:
            name = "zwvusr"[len(names) - 2] if len(names) < 8 else "z"
            made.append(f"{name} = {text}")
            names.append(name)
        elif kind == 2 and rng.random() < 0.25:
            made.append(f"with torch.no_grad(): {text}")
        else:
            made.append(text)
    return made


PRELUDE = """
import torch
import torch.nn.functional as F
def show(name, t):
    if isinstance(t, torch.Tensor):
        print(name, t, t.stride(), t._version, t.requires_grad and t.is_leaf and t.grad)
"""


def script(lines: list[str]) -> str:
    """The statements, each in a `try`, and a look at each tensor in the end."""
    parts = ["torch.manual_seed(0)"]
    for i, line in enumerate(lines):
        parts += [f"print('## {i}')", "try:", f"    {line}", "except Exception as e:", "    print(type(e).__name__ + ':', e)"]
    names = dict.fromkeys(line.partition(" = ")[0] for line in lines if re.match(r"[a-z] = ", line))
    for name in names:
        parts += [f"print('## {name}')", "try:", f"    show('{name}', {name})", "except Exception as e:"]
        parts += ["    print(type(e).__name__ + ':', e)"]
    return "\n".join(parts) + "\n"


def differing(theirs: str, ours: str) -> tuple[str, str, str, str] | None:
    """The first fact that differs: its name, the kind of the difference, and both texts."""
    other, mine = verdicts.facts(theirs), verdicts.facts(ours)
    for fact in dict.fromkeys((*other, *mine)):
        a, b = (harness.normalised(facts.get(fact, "")) for facts in (other, mine))
        if a != b and (kind := verdicts.kind_of("gradient", a, b)):
            return fact, kind, other.get(fact, ""), mine.get(fact, "")
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True, metavar="PATH", help="the Python that has PyTorch 2.13")
    parser.add_argument("-n", type=int, default=1000, help="scripts (1000)")
    parser.add_argument("--start", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with Child("torch", PRELUDE, options.torch_python) as theirs, Child("gradcli", PRELUDE) as ours:
        for number in range(options.start, options.start + options.n):
            lines = statements(number, options.seed)
            text = script(lines)
            a, b = theirs.run(text), ours.run(text)
            if (a["error"] or "").startswith(("Crash", "Timeout")):
                continue
            found = differing(a["out"], b["out"])
            if found is None and b["error"] and not a["error"]:
                found = ("script", "fault", "", b["error"])
            if found is None and a["warnings"] != b["warnings"]:
                found = ("warnings", "warning", "\n".join(a["warnings"]), "\n".join(b["warnings"]))
            counts[found[1] if found else "equal"] += 1
            if found and found[1] not in verdicts.FINE:
                fact, kind, left, right = found
                print(f"\n=== {number} {kind} at {fact}: {'; '.join(lines)}")
                print("\n".join([*(f"- {line}" for line in left.split("\n")), *(f"+ {line}" for line in right.split("\n"))]), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
