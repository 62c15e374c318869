"""`out=` of every function that takes it: the result is written, and the tensor itself is returned."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.session import Session
from gradcli.source import Source
from tools.comparison import calls

SUBJECTS = {s.name: s for s in calls.subjects() if s.name.startswith("torch.") and getattr(s.callee, "takes_out", False)}
#: what is not filled, and what returns None
LEFT_OUT = ("torch.empty", "torch.split_copy", "torch.split_with_sizes_copy", "torch.unbind_copy")
PLAIN = """
import math
import torch
import torch.nn.functional as F
{setup}
def flat(y):
    return [y] if isinstance(y, torch.Tensor) else list(y)
torch.manual_seed(0)
expected = flat({call})
"""
WITH_OUT = """
new = [torch.empty(0, dtype=t.dtype) for t in expected]
out = tuple(new) if len(new) > 1 else new[0]
torch.manual_seed(0)
print([a is b for a, b in zip(flat({call}), new)] == [True] * len(new))
print([(str(t), t.shape) for t in new] == [(str(t), t.shape) for t in expected])
"""


def _session(write: Callable[[str], None]) -> Session:
    return Session(bounds=limits.default(), write=write, warn=lambda *_: None, read_stdin=bytes)


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in LEFT_OUT])
def test_the_result_is_written_and_the_tensor_returned(name: str) -> None:
    for number in range(200):
        call = calls.make(SUBJECTS[name], number, 1)
        if "out=" in call.text:
            continue
        setup = "\n".join(line.replace(".requires_grad_()", "") for line in call.setup)
        written: list[str] = []
        session = _session(written.append)
        with contextlib.suppress(ProgramError):  # the call may be wrong, or of an overload without `out`
            session.run(Source("plain", PLAIN.format(setup=setup, call=call.text)))
            with_out = f"{call.text[:-1].rstrip(', ')}, out=out)".replace("(, ", "(")
            session.run(Source("with out", WITH_OUT.format(call=with_out)))
            assert "".join(written) == "True\nTrue\n"
            return
    raise AssertionError(f"no call of {name} succeeds")


@pytest.mark.parametrize(
    "call",
    [
        "x.addmm_(x, y)",
        "x[0].addmv_(y, x[0])",
        "x.addr_(x[:, 0], y[0])",
        "torch.addmv(y[0], y, x[0], out=x[0])",
        "torch.addr(y, x[:, 0], y[0], out=x)",
        "torch.add(y, x[:, :1], out=x)",
        "torch.sub(x[:, 1:], x[:, :2], out=x[:, 1:])",
        "torch.diff(x, out=x[:, 1:])",
        "torch.nn.functional.linear(y, x, out=x)",
        "torch.nn.functional.linear(y, x[0], out=x[0])",
    ],
)
def test_an_operand_that_is_read_while_it_is_written_is_refused(call: str) -> None:
    with pytest.raises(ProgramError, match="written while the operand is read"):
        _session(lambda _: None).run(Source("refused", f"import torch\nx = torch.ones(3, 3)\ny = torch.eye(3)\n{call}"))
