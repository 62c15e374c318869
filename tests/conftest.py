"""How many processes run the tests, which tests are quick, and a prompt to type at for tests of several wings."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.repl.driving import Terminal, Typist

for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    # `nohup` and shells that start commands in the background ignore them, and the processes that tests interrupt would inherit it
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL)

# Recorded output has the last digits that matrix products have with the kernels for AVX2, and numpy's library has others for newer
# processors. It reads this when numpy is imported, and the processes that tests start inherit it.
_processor = Path("/proc/cpuinfo")
if _processor.exists() and " avx2 " in _processor.read_text(encoding="utf-8"):
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

#: every twentieth case of a parametrized test is quick
STRIDE = 20


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Whole folders are tested on every core, single files and tests in this process, where a debugger can look; `-n` decides otherwise."""
    option = config.option
    whole = all(Path(word).is_dir() for word in config.args) and not option.collectonly and option.capture != "no"
    # None says that pytest-xdist is there and that nobody has chosen; its workers come here too, and must not start workers
    if whole and getattr(option, "numprocesses", 0) is None and not hasattr(config, "workerinput"):
        option.numprocesses = "auto"


def pytest_configure() -> None:
    """Look at the values of names after every statement of a program that a test runs in its own process."""
    from gradcli.lang.values import value_classes  # not above: numpy is imported with it

    value_classes.CHECK_VALUES = True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the quick tests: all that are not slow and draw no examples, but of a test with many cases only every twentieth.

    With `-m quick` the others are left out at once: hypothesis reads all modules for constants where one of its tests is left.
    """
    seen: Counter[str] = Counter()
    quick = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if not drawn and not item.get_closest_marker("slow") and seen[test] % STRIDE == 0:
            item.add_marker("quick")
        if item.get_closest_marker("quick"):
            quick.append(item)
        seen[test] += 1
    if config.option.markexpr == "quick":
        config.hook.pytest_deselected(items=[item for item in items if not item.get_closest_marker("quick")])
        items[:] = quick


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    """A prompt in this process, with a history of its own."""
    from tests.repl.driving import Typist

    return Typist(tmp_path)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """`terminal(*words, **environment)` starts gradcli in a pseudo-terminal; several share one history."""
    from tests.repl.driving import Terminal

    started: list[Terminal] = []

    def start(*words: str, **more: object) -> Terminal:
        started.append(Terminal(tmp_path, *words, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for one in started:
        if one.child.isalive():
            one.child.kill(signal.SIGKILL)
        one.child.close(force=True)
