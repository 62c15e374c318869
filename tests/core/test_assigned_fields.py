"""Fields of data sets, loaders, optimisers and distributions that programs set: another kind of value is an error of the program."""

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
import torch.distributions as D
class N(D.Normal):
    pass
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
    ("N(0., 1.)", "loc", ["torch.tensor(2.)"], ["1.0", "None", "[]", "D.Normal(0., 1.)"]),
    ("N(0., 1.)", "_batch_shape", ["torch.Size([2])"], ["3", "None", "torch.ones(2)", "('a',)"]),
    ("torch.optim.Adam([w])", "state", ["{}"], ["'x'", "(1,)", "torch.ones(2)"]),
    ("torch.optim.Adam([w])", "param_groups", ["[]"], ["None", "'x'", "[0]", "{w: 3}"]),
]


def run(text: str) -> None:
    session = Session(bounds=limits.Limits(), write=lambda text: None, warn=lambda *given: None, read_stdin=bytes)
    session.run(Source("<script>", BEGIN + text))


@pytest.mark.parametrize(("made", "field", "fitting", "others"), FIELDS)
def test_a_field_takes_values_of_its_kind(made: str, field: str, fitting: list[str], others: list[str]) -> None:
    use = "repr(o); o.step()\n" if "optim" in made else "repr(o); o.sample()\n" if made.startswith("N") else "for _ in o: pass\n"
    for value in fitting:
        run(f"o = {made}\no.{field} = {value}\n{use}")
    for value in others:
        with pytest.raises(ProgramError) as caught:
            run(f"o = {made}\no.{field} = {value}\n")
        assert caught.value.type_name == "TypeError", value


@pytest.mark.parametrize(
    "text",
    [
        "D.CatTransform([D.ExpTransform()], 'x')(torch.ones(1))",
        "D.CatTransform([D.ExpTransform()], 0, ['x'])",
        "D.StackTransform([D.ExpTransform()])({})",
        "D.ReshapeTransform((2,), (1, 2))(3)",
        "D.ReshapeTransform((2,), (1, 2)).inv('x')",
        "D.CumulativeDistributionTransform(3)",
    ],
)
def test_transforms_refuse_other_values(text: str) -> None:
    with pytest.raises(ProgramError):
        run(text)
