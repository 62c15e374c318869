"""Runs the examples of PyTorch's docstrings under an installed PyTorch and under gradcli, and prints how they compare.

    python tools/docstrings.py --torch-python VENV/bin/python                         the examples of all namespaces
    python tools/docstrings.py --torch-python VENV/bin/python 'torch.distributions.*' those of these names
    python tools/docstrings.py ... --show wrong                                       with the statements that differ so

An example is all that one docstring shows after `>>>`. What each statement prints, returns or assigns is compared. Examples that need
CUDA, files, networks or a compiler are left out, and those of which PyTorch runs no statement. The exit code is 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.comparison import verdicts  # noqa: E402
from tools.comparison.children import Child  # noqa: E402

#: namespaces whose names have examples, below `torch`
NAMESPACES = (
    "",
    *("Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations"),
    *("autograd", "autograd.forward_ad", "autograd.functional", "autograd.graph", "func", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "linalg", "special", "distributions", "distributions.transforms", "distributions.kl"),
)
VERDICTS = ("exact", "last digits", "known", "refused", "wrong")
_OF_KIND = {"equal": "exact", "digits": "last digits", "rounding": "last digits", "known": "known", "refused": "refused"}
#: imports that docstrings leave out, by the name that they give
_ALIASES = {"np": "import numpy as np", "D": "import torch.distributions as D", "math": "import math", "optim": "from torch import optim"}
#: what no example may need
_OUTSIDE = re.compile(
    r"cuda|'mps'|\.xpu|'meta'|torch\.(?:save|load|hub|compile|jit|onnx|export|distributed|multiprocessing|library|ops)\b|open\(|"
    r"from_file|torch\._|torchvision|download|scipy|SummaryWriter|input\(|\.pt['\"]|randint_like\(.*device|import dis\b"
)
#: what makes values that PyTorch leaves unset, or that nobody can foresee
_UNSET = re.compile(r"skip_init\(|torch\.Tensor\(\d|TypedStorage\(\d|\.seed\(\)|data_ptr\(\)$")
#: an error of PyTorch that says that the example is a fragment
_FRAGMENT = re.compile(
    r"(?:NameError|ModuleNotFoundError|ImportError|FileNotFoundError|SyntaxError): |"
    r"AttributeError: 'builtin_function_or_method'|TypeError: .* must be Tensor, not builtin_function_or_method$"
)

#: run by the Python that has PyTorch: docstrings of the public names of the namespaces, classes with their own methods
_COLLECT = """
import importlib, inspect, json, sys, torch
docs, seen = [], set()
def take(name, value):
    doc = inspect.getdoc(value) if callable(value) or inspect.isdatadescriptor(value) else None
    if doc and '>>>' in doc and doc not in seen:
        seen.add(doc)
        docs.append((name, doc))
for space in json.loads(sys.argv[1]):
    place = torch
    for part in space.split('.') if space else ():
        place = getattr(place, part, None) or importlib.import_module(f'{place.__name__}.{part}')
    prefix = f'torch.{space}' if space else 'torch'
    for name in sorted(n for n in dir(place) if not n.startswith('_')):
        value = getattr(place, name)
        foreign = not (getattr(value, '__module__', '') or 'torch').startswith('torch')
        if inspect.ismodule(value) or foreign or (name.endswith('Tensor') and name != 'Tensor'):
            continue
        take(f'{prefix}.{name}', value)
        if inspect.isclass(value) and value is not torch.Tensor:
            for method in sorted(m for m in vars(value) if not m.startswith('_')):
                take(f'{prefix}.{name}.{method}', getattr(value, method))
print(json.dumps([docs, {s: [n for n in dir(eval('torch.' + s)) if not n.startswith('_')] for s in json.loads(sys.argv[1]) if s}]))
"""

#: `show` prints what a statement returned or assigned
PRELUDE = """
import torch
from torch import Tensor, nn
import torch.nn.functional as F
def show(value):
    if isinstance(value, (tuple, list)) and not any(isinstance(v, (torch.Tensor, int, float, str, tuple, list)) for v in value):
        return
    if value is not None and not (callable(value) and not isinstance(value, (nn.Module, type))):
        print(repr(value))
"""
#: run by PyTorch: memory that it leaves unset is zero, as gradcli's is
ZEROS = """
def zeroed(make):
    return lambda *args, **kwargs: torch.no_grad()(torch.Tensor.zero_)(make(*args, **kwargs))
"""
_MAKES = re.compile(r"((?:\w+\.)+(?:new_)?empty(?:_like|_strided|_permuted)?)\(")


@dataclass(frozen=True)
class Example:
    """The statements of a docstring, and the imports that they leave out."""

    name: str
    imports: tuple[str, ...]
    statements: tuple[str, ...]

    @property
    def script(self) -> str:
        """A script that prints each statement's results under a line `## number`."""
        parts = list(self.imports)
        for number, statement in enumerate(self.statements):
            body = textwrap.indent(_shown(statement), "    ")
            parts.append(f"print('##', {number})\ntry:\n{body}\nexcept Exception as e:\n    print(type(e).__name__ + ':', e)")
        return "\n".join(parts) + "\n"


def _shown(statement: str) -> str:
    """A statement, followed by showing what it returns or assigns to names."""
    node = ast.parse(statement).body[0]
    if isinstance(node, ast.Expr):
        return f"show({ast.unparse(node)})"
    targets = [ast.unparse(t) for t in node.targets] if isinstance(node, ast.Assign) else []
    return "\n".join([ast.unparse(node), *(f"show({t})" for t in targets)])


def statements(doc: str) -> Iterator[str]:
    """The statements behind the prompts of a docstring, block by block; what cannot be parsed is left out."""
    block: list[str] = []
    for line in [*doc.splitlines(), ""]:
        text = line.strip()
        if text.startswith((">>>", "...")) and (block or text.startswith(">>>")):
            block.append(text[4:] if text[3:4] == " " else text[3:])
            continue
        yield from _parsed(block)
        block = []


def _parsed(lines: list[str]) -> Iterator[str]:
    """The statements of the longest beginnings that can be parsed; a line that begins none is left out."""
    while lines:
        end = 1
        for longest in range(len(lines), 0, -1):
            with suppress(SyntaxError):
                yield from map(ast.unparse, ast.parse("\n".join(lines[:longest])).body)
                end = longest
                break
        lines = lines[end:]


def examples(docs: list[tuple[str, str]], exported: dict[str, list[str]]) -> Iterator[Example]:
    """The examples of docstrings that need nothing but PyTorch; `exported` has the names of each namespace."""
    for name, doc in docs:
        found = tuple(statements(doc))
        text = "\n".join(found)
        if not found or _OUTSIDE.search(text):
            continue
        words = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text)) - {"Tensor", "nn", "F", "torch"}
        spaces = [s for s in exported if name.startswith(f"torch.{s}.") and s != "Tensor"]
        imports = [f"from torch.{s} import {w}" for s in spaces for w in sorted(words & set(exported[s]))]
        imports += [line for word, line in _ALIASES.items() if word in words]
        yield Example(name, tuple(imports), found)


def collected(python: str) -> list[Example]:
    """The examples of the PyTorch that this Python has."""
    done = subprocess.run([python, "-W", "ignore", "-c", _COLLECT, json.dumps(NAMESPACES)], capture_output=True, text=True, check=True)
    docs, exported = json.loads(done.stdout.splitlines()[-1])
    return list(examples(docs, exported))


def compared(example: Example, theirs: dict[str, Any], ours: dict[str, Any], allowed: list[verdicts.Known]) -> dict[str, Any] | None:
    """The verdict of an example, with the statement that decides; None if PyTorch runs no statement of it."""
    want = verdicts.facts(theirs["out"])
    runs = {fact for fact, text in want.items() if not _FRAGMENT.match(text)}
    if theirs["error"] or not runs:
        return None
    have, unset = verdicts.facts(ours["out"]), False
    row = {"name": example.name, "verdict": "exact", "statement": "", "theirs": "", "ours": ""}
    for number, statement in enumerate(example.statements):
        if (fact := str(number)) not in runs:
            continue
        if fact not in have:
            refused = verdicts.REFUSAL.search(ours["error"] or "") or (ours["error"] or "").startswith("SyntaxError")
            return row | {"verdict": "refused" if refused else "wrong", "statement": statement, "ours": ours["error"]}
        pair: Any = [{"out": f"## value\n{text}\n", "warnings": [], "error": None} for text in (want[fact], have[fact])]
        verdict = _OF_KIND.get(verdicts.verdict(verdicts.differences(example.name, *pair, allowed)), "wrong")
        unset = unset or bool(_UNSET.search(statement))
        if verdict == "wrong" and unset and not verdicts.ERROR.match(have[fact]):
            verdict = "known"
        if verdict == "wrong" and "vmap(" in statement and _unnamed(want[fact]) == _unnamed(have[fact]):
            verdict = "known"  # docs/differences.md: vmap stacks results, so that the node has another name
        if verdict == "wrong" and _close(want[fact], have[fact]):
            verdict = "last digits"
        if VERDICTS.index(verdict) > VERDICTS.index(row["verdict"]):
            row |= {"verdict": verdict, "statement": statement, "theirs": want[fact], "ours": have[fact]}
        if verdict in ("refused", "wrong"):
            break  # what follows may use what is missing
    return row


def _unnamed(text: str) -> str:
    """The text of a tensor without its node."""
    return re.sub(r"\s+", "", re.sub(r",?\s*grad_fn=<\w+>", "", text))


def _close(theirs: str, ours: str) -> bool:
    """Whether the numbers of equal texts differ by one unit of five digits at most, or little beside the largest of them and 1."""
    # the imaginary part of a complex number is a number of its own
    theirs, ours = (re.sub(r"(?<=[\d.])(?:\+|(-))([\d.]+(?:e[+-]\d+)?)j", r" \1\2 j", text) for text in (theirs, ours))
    shapes = [re.sub(r"\s+", " ", verdicts.NUMBER.sub("#", text)).replace("[ ", "[") for text in (theirs, ours)]
    if len(set(shapes)) > 1:
        return False
    pairs = list(zip(*(map(float, verdicts.NUMBER.findall(text)) for text in (theirs, ours)), strict=True))
    largest = max((abs(a) for a, _ in pairs), default=0)
    return all(a == b or abs(a - b) <= max(1e-5 * max(largest, 1), 1.01e-4 * abs(a)) for a, b in pairs)


def rows(chosen: list[Example], theirs: Callable[[str], dict[str, Any]], ours: Callable[[str], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The examples that PyTorch runs, each compared."""
    allowed = verdicts.known(ROOT / "docs" / "differences.md")
    for example in chosen:
        if row := compared(example, theirs(example.script), ours(example.script), allowed):
            yield row


def table(found: list[dict[str, Any]]) -> str:
    """The counts of each namespace, and the sum with the share that is exact, known, or differs in last digits."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in found:
        space = max(
            (f"torch.{s}" if s else "torch" for s in NAMESPACES if f"{row['name']}.".startswith(f"torch.{s}." if s else "torch.")), key=len
        )
        for group in (space, "all"):
            counts[group][row["verdict"]] += 1
    counts["all"] = counts.pop("all", Counter())
    lines = ["".join(f"{title:>12}" for title in ("examples", *VERDICTS)) + "      fine %  namespace"]
    for space, count in counts.items():
        fine = 100 * sum(count[v] for v in VERDICTS[:3]) / max(count.total(), 1)
        lines.append("".join(f"{n:12}" for n in (count.total(), *(count[v] for v in VERDICTS))) + f"{fine:12.1f}  {space}")
    return "\n".join(lines)


def main() -> int:
    """Compare, and print the table; the exit code is 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="patterns of names such as torch.nn.Linear; all if there is none")
    parser.add_argument("--torch-python", required=True, metavar="PATH", help="the Python that has PyTorch 2.13")
    parser.add_argument("--show", default="", metavar="VERDICT", help="print the statements that differ so: a pattern such as wrong")
    options = parser.parse_args()
    chosen = [e for e in collected(options.torch_python) if not options.names or any(fnmatchcase(e.name, p) for p in options.names)]
    with Child("torch", PRELUDE + ZEROS, options.torch_python) as theirs, Child("gradcli", PRELUDE) as ours:
        found = list(rows(chosen, lambda script: theirs.run(_MAKES.sub(r"zeroed(\1)(", script)), ours.run))
    for row in found:
        if fnmatchcase(row["verdict"], options.show):
            print(f"\n=== {row['name']}, {row['verdict']}: {row['statement']}\n- {row['theirs'][:400]}\n+ {row['ours'][:400]}")
    print(table(found))
    return int(any(row["verdict"] == "wrong" for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
