"""Small parameters that are updated as one row get what each would get by itself, to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcli.core.optim import optimizer
from gradcli.core.optim.row import Row
from gradcli.lang.interpreter.interpreter import Interpreter
from gradcli.lang.syntax import parser
from gradcli.source import Source

PROGRAM = """
import torch
from torch import nn
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.Linear(2, 1))
x, y = torch.randn(5, 3), torch.randn(5, 1)
{before}
opt = torch.optim.{optimizer}
for epoch in range(4):
    opt.zero_grad()
    ((model(x) - y) ** 2).mean().backward()
    {odd}
    opt.step()
for p in model.parameters():
    print(p.tolist(), p._version, p.is_leaf, p.grad.tolist())
    print({{k: v.tolist() for k, v in opt.state[p].items()}}, [v._version for v in opt.state[p].values()])
"""
OPTIMIZERS = [
    "Adam(model.parameters(), lr=0.1)",
    "Adam(model.parameters(), lr=0.1, weight_decay=0.1, amsgrad=True)",
    "Adam(model.parameters(), lr=0.1, maximize=True)",
    "AdamW(model.parameters(), lr=0.1, weight_decay=0.3)",
    "Adamax(model.parameters(), lr=0.1, weight_decay=0.1)",
]


def printed(text: str) -> str:
    written: list[str] = []
    Interpreter(write=written.append, warn=lambda *_: None).run(parser.parse_file(Source("<program>", text)))
    return "".join(written)


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """The rows that are made."""
    made: list[Row] = []
    row_of: Callable[..., Row | None] = optimizer.row_of  # type: ignore[attr-defined]

    def noted(*args: object) -> Row | None:
        row = row_of(*args)
        if row is not None:
            made.append(row)
        return row

    monkeypatch.setattr(optimizer, "row_of", noted)
    return made


def apart(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setattr(optimizer, "row_of", lambda *_: None)
        return printed(text)


@pytest.mark.parametrize("made", OPTIMIZERS)
def test_rows(made: str, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.format(optimizer=made, before="", odd="pass")
    expected = apart(text, monkeypatch)
    assert printed(text) == expected
    assert len(rows) == 3  # the first step makes the states


@pytest.mark.parametrize(
    ("before", "odd", "count"),
    [
        ("", "if epoch == 2: model[0].bias.grad = None", 2),  # its steps are one behind from then on
        ("", "if epoch == 2: model[0].bias.grad = model[0].bias.detach()", 2),  # shares memory
        ("", "model[0].weight.data = model[0].weight.data * 2", 3),
        ("", "model[0].weight.data.mul_(0.5); model[2].bias.grad.mul_(2)", 3),
        ("model[0].weight.data = torch.randn(3, 4).t()", "pass", 0),  # the state is row by row as the tensor is
        ("", "if epoch > 1: opt.state[model[0].bias]['exp_avg'] = torch.ones(4)", 3),
        ("", "if epoch > 1: opt.state[model[0].bias]['step'] = torch.tensor(7.0)", 1),
        ("", "if epoch > 1: opt.state[model[0].bias]['exp_avg'].mul_(2)", 3),
        ("", "if epoch > 1: opt.state[model[0].bias]['exp_avg'].data = torch.zeros(4)", 3),
        ("", "opt.load_state_dict(opt.state_dict())", 3),
        ("", "opt.param_groups[0]['params'].reverse()", 3),
        ("model[0].double(); x = x.double()\nmodel[2].double(); model[3].double(); y = y.double()", "pass", 3),
        ("both = torch.randn(2, 2)\nmodel[3].weight.data = both[:1]\nmodel[2].bias.data = both[1]", "pass", 0),  # parts of one memory
        ("model[2] = nn.Linear(4, 2, bias=False); model[0] = nn.Linear(3, 4, bias=False); model[3].bias.requires_grad_(False)", "pass", 0),
    ],
)
def test_what_is_no_row(before: str, odd: str, count: int, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.format(optimizer=OPTIMIZERS[0], before=before, odd=odd).replace("p.grad.tolist()", "p.grad")
    expected = apart(text, monkeypatch)
    assert printed(text) == expected
    assert len(rows) == count


def test_an_invalid_option_is_found_when_one_step_has_been_counted(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    text = PROGRAM.format(optimizer=OPTIMIZERS[0], before="", odd="pass").replace(
        "    opt.step()\n",
        "    try:\n        if epoch == 2: opt.param_groups[0]['betas'] = (0.9, 'x')\n"
        "        opt.step()\n    except Exception as e:\n        print(e)\n",
    )
    expected = apart(text, monkeypatch)
    assert printed(text) == expected
    assert rows
