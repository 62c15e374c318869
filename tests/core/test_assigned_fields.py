"""Fields of data sets, samplers, loaders and optimisers that programs set: another kind of value is an error of the program."""

from __future__ import annotations

import pytest

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.session import Session
from gradcli.source import Source

BEGIN = """
import torch
from torch.utils.data import *
d = TensorDataset(torch.arange(4.))
w = torch.nn.Parameter(torch.ones(2))
"""
FIELDS = [
    ("TensorDataset(torch.ones(2))", "tensors", ["(torch.zeros(3),)"], ["3", "'x'", "(1,)", "torch.ones(2)", "(torch.tensor(1.),)"]),
    ("ConcatDataset([d, d])", "datasets", ["[d, d]"], ["None", "3", "torch.ones(2)", "object"]),
    ("ConcatDataset([d, d])", "cumulative_sizes", ["[4, 8]"], ["None", "[]", "['x']", "torch.ones(2)"]),
    ("StackDataset(d, d)", "datasets", ["(d,)", "{'a': d}"], ["None", "3", "torch.ones(2)"]),
    ("RandomSampler(d)", "replacement", ["True"], ["3", "torch.ones(2)"]),
    ("BatchSampler(SequentialSampler(d), 2, False)", "batch_size", ["3"], ["0", "None", "1.5", "float('nan')", "[]"]),
    ("BatchSampler(SequentialSampler(d), 2, False)", "drop_last", ["True"], ["None", "torch.ones(2)"]),
    ("DataLoader(d, 2)", "collate_fn", ["len", "lambda b: b"], ["None", "3", "'x'", "[]"]),
    ("torch.optim.Adam([w])", "state", ["{}"], ["'x'", "(1,)", "torch.ones(2)"]),
    ("torch.optim.Adam([w])", "param_groups", ["[]"], ["None", "'x'", "[0]", "{w: 3}"]),
]


def run(text: str) -> None:
    session = Session(bounds=limits.Limits(), write=lambda text: None, warn=lambda *given: None, read_stdin=bytes)
    session.run(Source("<script>", BEGIN + text))


@pytest.mark.parametrize(("made", "field", "fitting", "others"), FIELDS)
def test_a_field_takes_values_of_its_kind(made: str, field: str, fitting: list[str], others: list[str]) -> None:
    use = "for _ in o: pass\n" if "optim" not in made else "repr(o); o.step()\n"
    for value in fitting:
        run(f"o = {made}\no.{field} = {value}\n{use}")
    for value in others:
        with pytest.raises(ProgramError) as caught:
            run(f"o = {made}\no.{field} = {value}\n")
        assert caught.value.type_name == "TypeError", value
