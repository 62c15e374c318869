"""Kills `gradcli batch` at random moments until it has answered everything, and compares the answers with those of a quiet run.

python -m tests.batch.kills --requests 200000 --moments 200
python -m tests.batch.kills --requests 1000000 --moments 20 --cluster --slow 0.1

Without --cluster the parent, a worker, or both are killed by SIGKILL, and --resume goes on. With it a scheduler and two workers run
beside the client: a worker is killed at each moment, the scheduler and the client once each.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path

from tests.batch.conftest import COMMAND, ENVIRON
from tests.batch.mixed import requests

#: seconds between two kills, on average, at least
_GAP = 0.3
#: seconds after the death of a worker in which no other one is killed: a request that ends two workers is answered with that. The slowest
#: one takes 0.1 s on a machine that has nothing else to do
_PAUSE = 2.0


def children(process: int) -> list[int]:
    """The processes that the threads of a process have started."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(one) for one in path.read_text().split()]
    return found


def kill(process: int) -> None:
    """End a process, if there is one."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def written(out: Path) -> int:
    """The bytes of answers so far."""
    return out.stat().st_size if out.exists() else 0


def different(quiet: Path, out: Path) -> list[str]:
    """The first line that is not the same in both files, as each has it."""
    with quiet.open(encoding="utf-8") as wanted, out.open(encoding="utf-8") as found:
        return next(([f"{n}: {a}", f"{n}: {b}"] for n, (a, b) in enumerate(zip_longest(wanted, found), 1) if a != b), [])


def disturbed(source: Path, out: Path, moments: int, seconds: float, rng: random.Random, jobs: int = 2) -> dict[str, int]:
    """Answer `source` in `out` while the parent, a worker or both are killed `moments` times, some `seconds` apart; how many of each.

    Most moments come when a run has written something, the others from its start on.
    """
    told = {"parent": 0, "worker": 0, "both": 0, "runs": 0}
    process = None
    while process is None or process.returncode:
        process = subprocess.Popen([*COMMAND, str(source), "-o", str(out), "--jobs", str(jobs), "--resume"], env=ENVIRON)
        told["runs"] += 1
        before = written(out)
        late = rng.random() < 0.8
        pause = 0.0
        while late and process.poll() is None and written(out) == before:
            time.sleep(0.01)
        while process.poll() is None and sum(told.values()) - told["runs"] < moments:
            with suppress(subprocess.TimeoutExpired):
                process.wait(pause + rng.uniform(0, 2 * seconds))
                break
            if workers := children(process.pid):
                what = rng.choice(["parent", "worker", "both"])
                told[what] += 1
                if what != "parent":
                    kill(rng.choice(workers))
                if what != "worker":
                    kill(process.pid)
                    break
                pause = _PAUSE
        process.wait()
        assert process.returncode in (0, -signal.SIGKILL), process.returncode
    return told


# --- a cluster ---


class Cluster:
    """A scheduler and two workers, each a process; `restart` begins anew, at the same address."""

    def __init__(self, folder: Path, workers: int = 2, more: Sequence[str] = ()) -> None:
        self.file = folder / "scheduler.json"
        self._more = more
        self._folder = folder
        self._count = workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.restart()

    def restart(self) -> None:
        """Start everything, after its end."""
        self.file.unlink(missing_ok=True)
        common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(self.file), *self._more]
        self._processes = [self._start("dask_scheduler", "--port", "0", *common)]
        end = time.monotonic() + 60
        while not self.file.exists() and time.monotonic() < end:
            time.sleep(0.05)
        self._processes += [self._start("dask_worker", "--nthreads", "1", *common) for _ in range(self._count)]

    def _start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *words]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self._folder, env=ENVIRON, stdout=quiet, stderr=quiet, start_new_session=True)

    def kill_worker(self, rng: random.Random) -> bool:
        """Kill the process that a nanny has started; whether there was one."""
        found = [one for nanny in self._processes[1:] for one in children(nanny.pid) if b"spawn_main" in _words(one)]
        if found:
            kill(rng.choice(found))
        return bool(found)

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        kill(self._processes[0].pid)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that ends with the block."""
    made = Cluster(folder)
    try:
        yield made
    finally:
        made.close()


def disturbed_on_cluster(source: Path, out: Path, moments: int, size: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Answer `source` in `out`, which will have `size` bytes, while workers are killed `moments` times, and the scheduler and the
    client once each; how many of each.
    """
    told = {"worker": 0, "scheduler": 0, "client": 0, "runs": 0}
    victims = ["worker"] * moments + ["scheduler", "client"]
    rng.shuffle(victims)
    # the last ones come when something is left to do
    order = sorted(((rng.uniform(0, 0.7) * size, victim) for victim in victims), reverse=True)
    process = None
    with cluster(folder) as made:
        while process is None or process.returncode:
            words = [*COMMAND, str(source), "-o", str(out), "--scheduler-file", str(made.file), "--resume"]
            process = subprocess.Popen(words, env=ENVIRON)
            told["runs"] += 1
            while process.poll() is None:
                time.sleep(rng.uniform(0, 0.01))
                if not order or written(out) < order[-1][0]:
                    continue
                victim = order[-1][1]
                if victim == "worker" and not made.kill_worker(rng):
                    continue
                if victim == "scheduler":
                    made.kill_scheduler()
                if victim == "client":
                    kill(process.pid)
                told[victim] += 1
                order.pop()
            if process.returncode:
                made.close()
                made.restart()
    assert not order, f"over before {order}"
    return told


# --- the command ---


def main() -> int:
    """Run, and report; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", type=float, default=0.5, help="how many of 100 requests are slow: each takes some 0.1 s")
    parser.add_argument("--cluster", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, quiet = folder / "q.jsonl", folder / "quiet.jsonl"
        source.write_text("".join(requests(options.requests, options.seed, options.slow)))
        begun = time.monotonic()
        subprocess.run([*COMMAND, str(source), "-o", str(quiet), "--jobs", "1"], env=ENVIRON, check=True)
        taken = time.monotonic() - begun
        print(f"undisturbed, --jobs 1: {taken:.1f} s", flush=True)
        done = number = 0
        while done < options.moments:
            number += 1
            out = folder / f"out{number}.jsonl"
            begun = time.monotonic()
            if options.cluster:
                told = disturbed_on_cluster(source, out, options.moments, written(quiet), rng, folder)
            else:
                told = disturbed(source, out, options.moments - done, max(taken / 2 / options.moments, _GAP), rng)
            done += sum(told.values()) - told["runs"]
            same = filecmp.cmp(quiet, out, shallow=False)
            print(f"{told}, {time.monotonic() - begun:.1f} s, {'equal' if same else 'DIFFERENT'}", flush=True)
            if not same:
                print(*different(quiet, out), sep="\n")
                return 1
            out.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
