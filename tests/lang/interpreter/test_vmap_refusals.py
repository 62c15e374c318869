"""What vmap refuses."""

from __future__ import annotations

import pytest

from gradcli.errors import ProgramError
from tests.lang.running import Session

_DRAWN = "numbers drawn by tensors, or from a given generator, with randomness='different' are not part of gradcli"


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("return torch.poisson(x)", ", randomness='different'", _DRAWN),
        ("return torch.multinomial(x, 1)", ", randomness='different'", _DRAWN),
    ],
)
def test_refused_within_vmap(body: str, options: str, message: str) -> None:
    source = f"import torch\ndef f(x):\n    {body}\nprint(torch.func.vmap(f{options})(torch.ones(2, 3)))"
    with pytest.raises(ProgramError) as caught:
        Session().run(source)
    assert (caught.value.type_name, caught.value.message) == ("NotImplementedError", message)
