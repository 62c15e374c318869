"""What vmap refuses because the samples run one after the other."""

from __future__ import annotations

import pytest

from gradcli.errors import ProgramError
from tests.lang.running import Session

_DRAWN = "numbers drawn by tensors with randomness='different' are not part of gradcli"


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("c.mul_(2)\n    return x", "", "mul_ of a tensor from outside the function within vmap is not part of gradcli"),
        ("c[0] = 5\n    return x", "", "copy_ of a tensor from outside the function within vmap is not part of gradcli"),
        ("return torch.poisson(x)", ", randomness='different'", _DRAWN),
        ("return torch.multinomial(x, 1)", ", randomness='different'", _DRAWN),
    ],
)
def test_refused_within_vmap(body: str, options: str, message: str) -> None:
    source = f"import torch\nc = torch.ones(3)\ndef f(x):\n    {body}\nprint(torch.func.vmap(f{options})(torch.ones(2, 3)))"
    with pytest.raises(ProgramError) as caught:
        Session().run(source)
    assert (caught.value.type_name, caught.value.message) == ("NotImplementedError", message)
