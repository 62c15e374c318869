"""Sequential and ModuleList: names, texts, slices."""

from __future__ import annotations

import pytest

from gradcli.errors import ProgramError
from tests.core.nn.calling import RECORDED, make, script, two_layers


def test_sequential() -> None:
    net = two_layers()
    assert repr(net) == RECORDED["sequential"]
    assert repr(make("ModuleList", [make("ReLU"), make("ReLU"), net[2]])) == RECORDED["list"]
    assert len(net) == 3 and repr(net[1]) == "ReLU()" and net[-1] is net[2]
    assert [n for n, _ in script(net, "named_parameters")] == ["0.weight", "0.bias", "2.1.weight", "2.1.bias"]
    assert [n for n, _ in script(net, "named_modules")] == ["", "0", "1", "2", "2.0", "2.1"]
    assert [n for n, _ in script(net, "named_children")] == ["0", "1", "2"]
    assert repr(net[1:]).startswith("Sequential(\n  (1): ReLU()\n  (2): Sequential(")
    with pytest.raises(ProgramError, match="index 9 is out of range"):
        net[9]
