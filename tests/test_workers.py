"""How many processes run the tests: tests/conftest.py chooses where nobody has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest

OPTIONS: dict[str, Any] = {"numprocesses": None, "collectonly": False, "capture": "fd"}


@pytest.mark.parametrize(
    ("words", "options", "worker", "expected"),
    [
        (["tests"], {}, False, "auto"),
        (["tests"], {}, True, None),
        (["tests/conftest.py"], {}, False, None),
        (["tests/conftest.py::test"], {}, False, None),
        (["tests"], {"capture": "no"}, False, None),
        (["tests"], {"collectonly": True}, False, None),
        (["tests"], {"numprocesses": 0}, False, 0),
        (["tests"], {"numprocesses": 3}, False, 3),
    ],
)
def test_who_starts_workers(
    words: list[str], options: dict[str, Any], worker: bool, expected: object, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pytestconfig.rootpath)
    config: Any = SimpleNamespace(args=words, option=SimpleNamespace(**(OPTIONS | options)))
    if worker:
        config.workerinput = {}
    conftest.pytest_cmdline_main(config)
    assert config.option.numprocesses == expected
