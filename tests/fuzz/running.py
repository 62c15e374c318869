"""How the fuzzers run: their command line, and programs in a process of their own, so that what kills or hangs it is found too."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection

from gradcli.errors import GradcliError, InternalFault

#: gives, for a number of tries and a seed, what was found wrong
Faults = Callable[[int, int], Iterator[str]]


def main(faults: Faults) -> int:
    """Try COUNT programs from SEED on, as the command line says, and print what is wrong."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = 0
    for fault in faults(count, seed):
        found += 1
        print(fault, flush=True)
    print(f"{count} programs from seed {seed}: {found} faults", flush=True)
    return int(found > 0)


def counted(count: int, step: int = 1) -> Iterator[int]:
    """The numbers below `count`, by steps; every 10,000 of them are told on standard error."""
    for number in range(0, count, step):
        yield number
        if (done := number + step) % 10_000 < step:
            print(f"{done} so far", file=sys.stderr, flush=True)


def fault_of(run: Callable[[], object]) -> tuple[str, str]:
    """What is wrong with how a program ended, and the text of its error: both empty where it ended well."""
    try:
        run()
    except InternalFault as fault:
        return f"internal fault: {fault}", ""
    except GradcliError as error:
        return "", f"{error.message} {error.labels} {error.hints}"
    except BaseException as error:
        return f"escaped: {type(error).__name__}: {error}", ""
    return "", ""


class Child:
    """A forked process that runs programs one after the other; `run` gives what is wrong with each, or nothing."""

    def __init__(self, run: Callable[[str], str]) -> None:
        context = multiprocessing.get_context("fork")
        self._line, other = context.Pipe()
        self._process = context.Process(target=self._serve, args=(run, other), daemon=True)
        self._process.start()
        other.close()

    @staticmethod
    def _serve(run: Callable[[str], str], line: Connection) -> None:
        while True:
            line.send(run(line.recv()))

    def ask(self, text: str, seconds: float) -> str:
        """What is wrong with a program, which may take so long. The process has ended where it died or took longer."""
        try:
            self._line.send(text)
            if self._line.poll(seconds):
                return str(self._line.recv())
            said = f"took more than {seconds:g} s"
        except (EOFError, OSError):
            self._process.join()
            said = f"ended the process: {self._process.exitcode}"
        self.end()
        return said

    @property
    def alive(self) -> bool:
        """Whether it takes more programs."""
        return self._process.is_alive()

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._line.close()


def in_children(programs: Iterable[str], run: Callable[[str], str], seconds: float) -> Iterator[str]:
    """What is wrong with each program, as text with the program: `run` tells, or the process that runs it dies, or hangs."""
    child = Child(run)
    try:
        for text in programs:
            if not child.alive:
                child = Child(run)
            if said := child.ask(text, seconds):
                yield f"{said}\n{text}"
    finally:
        child.end()
