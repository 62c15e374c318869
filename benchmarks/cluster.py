"""Batches on a local cluster beside --jobs: lines a second and processor time while all are at work, and what a block costs client
and scheduler.

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
from collections import Counter
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


def processes(process: int, below: str = "") -> dict[int, tuple[str, float]]:
    """What a process and those below it do, and their seconds of processor time."""
    try:
        cells = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        words = Path(f"/proc/{process}/cmdline").read_bytes()
        children = [int(one) for path in Path(f"/proc/{process}/task").glob("*/children") for one in path.read_text().split()]
    except OSError:
        return {}
    role = "requests" if below else "client"
    if below == "client" and b"multiprocessing" in words:
        role = "workers"
    if below == "workers":
        role = "beside workers"
    found = {process: (role, (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK"))}
    for one in children:
        found |= processes(one, role)
    return found


def measured(source: Path, words: list[str], lines: int) -> tuple[float, dict[str, float]]:
    """Lines a second, and microseconds of processor time for a line by role, while a tenth to nine tenths of the lines are answered."""
    out = source.with_name("out.jsonl")
    out.unlink(missing_ok=True)
    process = subprocess.Popen([sys.executable, "-m", "gradcli", "batch", str(source), "-o", str(out), *words])
    moments: list[tuple[float, int, dict[int, tuple[str, float]]]] = []
    while process.poll() is None:
        size = out.stat().st_size if out.exists() else 0
        if size != (moments[-1][1] if moments else 0):
            moments.append((time.perf_counter(), size, processes(process.pid)))
        time.sleep(0.1)
    whole = out.stat().st_size
    middle = [one for one in moments if 0.1 * whole < one[1] < 0.9 * whole]
    begun, end = middle[0], middle[-1]
    given = (end[1] - begun[1]) / whole * lines
    used = Counter[str]()
    for number in {number for one in middle for number in one[2]}:
        last = next(one[2][number] for one in reversed(middle) if number in one[2])
        used[last[0]] += last[1] - begun[2].get(number, ("", 0.0))[1]
    return given / (end[0] - begun[0]), {role: seconds / given * 1e6 for role, seconds in used.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder) / "q.jsonl", Path(folder) / "blocks.py"
        write(source, options.lines)
        found: dict[str, list[tuple[float, dict[str, float]]]] = {name: [] for name in WAYS}
        for _ in range(options.turns):
            for name, words in WAYS.items():
                found[name].append(measured(source, words, options.lines))
        for name, turns in found.items():
            rate = statistics.median(turn[0] for turn in turns)
            whole = statistics.median(sum(turn[1].values()) for turn in turns)
            parts = ", ".join(f"{role} {statistics.median(turn[1].get(role, 0.0) for turn in turns):.0f}" for role in turns[0][1])
            print(f"{name:16}{rate:8,.0f} lines a second, {whole:4.0f} us of processor time for a line: {parts}", flush=True)
        script.write_text(BLOCKS)
        taken = {}
        for size in (16, 512):
            words = [sys.executable, str(script), str(size), "batch", str(source), "-o", os.devnull, "--scheduler", "local", "--jobs", "2"]
            taken[size] = float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1])
        cost = (taken[16] - taken[512]) / (options.lines / 16 - options.lines / 512)
        print(f"client and scheduler: {cost * 1000:.2f} ms of processor time for a block")


if __name__ == "__main__":
    main()
