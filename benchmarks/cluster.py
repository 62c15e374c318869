"""Batches on a local cluster beside --jobs: lines a second and processor time without the start, and what a block costs client and
scheduler.

python benchmarks/cluster.py [--lines 20000] [--turns 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = {
    "--jobs 1": ["--jobs", "1"],
    "--jobs 2": ["--jobs", "2"],
    "1 local worker": ["--scheduler", "local"],
    "2 local workers": ["--scheduler", "local", "--jobs", "2"],
}
#: runs the command with blocks of so many lines, and prints the seconds of processor time of this process, which has the scheduler
BLOCKS = """
import sys, time
from gradcli.cli.app import run
from gradcli.cluster import blocks
if __name__ == "__main__":
    blocks.LINES = int(sys.argv[1])
    begun = time.process_time()
    run(sys.argv[2:])
    print(time.process_time() - begun)
"""


def write(path: Path, lines: int) -> None:
    """Distinct small expressions with their gradients."""
    made = ({"id": i, "expr": f"(x*{i} + y**2).sum()", "vars": {"x": [i % 7, 1, 2], "y": 0.5}} for i in range(lines))
    path.write_text("".join(json.dumps(one) + "\n" for one in made))


def processor(process: int) -> dict[int, float]:
    """Seconds of processor time of a process and of those below it."""
    try:
        cells = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        below = [int(one) for path in Path(f"/proc/{process}/task").glob("*/children") for one in path.read_text().split()]
    except OSError:
        return {}
    found = {process: (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")}
    for one in below:
        found |= processor(one)
    return found


def measured(source: Path, words: list[str]) -> tuple[float, float]:
    """Seconds, and seconds of processor time, between the first answer and the end, for the whole of the file."""
    out = source.with_name("out.jsonl")
    out.unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "gradcli", "batch", str(source), "-o", str(out), *words])
    while not (out.exists() and out.stat().st_size):
        time.sleep(0.002)
    begun, size, before = time.perf_counter(), out.stat().st_size, processor(process.pid)
    used = dict(before)
    while process.poll() is None:
        used |= processor(process.pid)
        time.sleep(0.02)
    rest = 1 - size / out.stat().st_size
    taken = sum(used.values()) - sum(before.values())
    return (time.perf_counter() - begun) / rest, taken / rest


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder) / "q.jsonl", Path(folder) / "blocks.py"
        write(source, options.lines)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
        for _ in range(options.turns):
            for name, words in WAYS.items():
                found[name].append(measured(source, words))
        for name, turns in found.items():
            rate, used = (statistics.median(options.lines / turn[at] for turn in turns) for at in (0, 1))
            print(f"{name:16}{rate:8,.0f} lines a second, {used:6,.0f} in a second of processor time", flush=True)
        script.write_text(BLOCKS)
        taken = {}
        for size in (16, 512):
            words = [sys.executable, str(script), str(size), "batch", str(source), "-o", os.devnull, "--scheduler", "local", "--jobs", "2"]
            taken[size] = float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])
        cost = (taken[16] - taken[512]) / (options.lines / 16 - options.lines / 512)
        print(f"client and scheduler: {cost * 1000:.2f} ms of processor time for a block")


if __name__ == "__main__":
    main()
