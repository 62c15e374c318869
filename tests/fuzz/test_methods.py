"""Wrong calls of every kind of value: errors of the program, as Python words them, and no object of the host in any text."""

from __future__ import annotations

import pytest

from gradcli import limits
from gradcli.errors import ProgramError
from gradcli.session import Session
from gradcli.source import Source
from tests.fuzz.calls import PRELUDE
from tests.fuzz.methods import HOST, MORE, Methods

WRONG = {
    "(5).bit_length(3)": "int.bit_length() takes no arguments (1 given)",
    "(1.5).is_integer(3)": "float.is_integer() takes no arguments (1 given)",
    "(5).bit_length(a=3)": "int.bit_length() takes no keyword arguments",
    "torch.Size([2]).numel(1)": "torch.Size.numel() takes no arguments (1 given)",
    "c.__setattr__(1, 2)": "attribute name must be string, not 'int'",
    "torch.Size([{}])": "torch.Size() takes an iterable of 'int' (item 0 is 'dict')",
    "DataLoader(ds, f)": "batch_size should be a positive integer value, but got batch_size=<function f at 0x",
    "DataLoader(ds, x)": "batch_size should be a positive integer value, but got batch_size=tensor([ 1., -2.,  3.], requires_grad=True)",
    "torch.utils.data.default_collate(gen())": "'generator' object is not subscriptable",
    "mod.to(dd.keys(), 0)": "invalid combination of arguments - got (dict_keys, int), but expected one of",
    "torch.set_printoptions(precision=f)": "set_printoptions(): precision must be a number",
    "list(plist.named_parameters(2**62))": "unsupported operand type(s) for +: 'int' and 'str'",
    "mod.state_dict(prefix=3)": "unsupported operand type(s) for +: 'int' and 'str'",
    "str(torch.optim.SGD([{'params': [m], 1: 2}], 0.1))": "'<' not supported between instances of 'int' and 'str'",
    "import collections; {collections.deque(): 1}": "unhashable type: 'collections.deque'",
    "torch.func.vmap(f, in_dims=dd.values())(x)": "in_dims=dict_values([1, [3]])",
    "opt.param_groups[0]['v'] = staticmethod(f); raise ValueError(repr(opt))": "v: <staticmethod",
    "torch.linalg.cross(torch.tensor(1.), torch.tensor(2.))": "Dimension specified as -1 but tensor has no dimensions",
    "'a'.startswith((1,))": "tuple for startswith must only contain str, not int",
    "nn.LazyBatchNorm2d()(x)": "tuple index out of range",
    "torch.distributions.transforms.IndependentTransform((x,), 1)": "'tuple' object has no attribute 'with_cache'",
    "np.zeros(None)": "Use () not None as shape arguments",
    "v = ()\nfor i in range(100): v = (v,)\nx[v]": "is not part of gradcli, which has at most 32",
    "torch.ones([1] * 32)[None]": "is not part of gradcli, which has at most 32",
    "np.ones([1] * 33)": "maximum supported dimension for an ndarray is currently 32, found 33",
    "np.meshgrid(*[np.ones(1)] * 33)": "maximum supported dimension for an ndarray is currently 32, found 33",
    "int(None, dd.keys())": "'dict_keys' object cannot be interpreted as an integer",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_call_is_the_programs_error(text: str) -> None:
    session = Session(bounds=limits.strict(), write=lambda _: None, warn=lambda *_: None, read_stdin=bytes)
    session.run(Source("<prelude>", PRELUDE + MORE))
    with pytest.raises(ProgramError) as caught:
        session.run(Source("<call>", text))
    assert WRONG[text] in caught.value.message and not HOST.search(caught.value.message)


def test_calls_by_chance_end_well() -> None:
    assert list(Methods(0).faults(2500)) == []
