"""A fit over many rows: gradcli --by-rows, its memory and time, beside numpy's least squares and numpy's own pass over the same file.

python benchmarks/rows.py [--rows 50000000] [--folder DIR] [--workers]

Makes an npy file of five columns of float32 (1 GB for 50,000,000 rows), and removes it. With --workers 1, 2 and 4 processes and a local
cluster follow, whose answers have to be equal to the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LOSS = "((d[:,:4]@w + b - d[:,4])**2).mean()"
BLOCK = 1 << 20


def make(path: Path, rows: int) -> None:
    """Write the file, block by block."""
    rng = np.random.default_rng(0)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (rows, 5))
    for at in range(0, rows, BLOCK):
        part = out[at : at + BLOCK]
        part[:, :4] = rng.standard_normal((len(part), 4), np.float32) * [1, 2, 0.5, 1] + [0, 1, -1, 0]
        part[:, 4] = part[:, :4] @ np.float32([1.5, -2, 0.25, 3]) + 0.75 + rng.standard_normal(len(part), np.float32)
    out.flush()


def least_squares(path: Path) -> np.ndarray:
    """numpy's least squares in float64: the triangles of the blocks, one below the other, have the solution of the whole."""
    data = np.load(path, mmap_mode="r")
    triangle = np.zeros((0, 6))
    for at in range(0, len(data), BLOCK):
        part = data[at : at + BLOCK].astype(np.float64)
        rows = np.column_stack([part[:, :4], np.ones(len(part)), part[:, 4]])
        triangle = np.linalg.qr(np.vstack([triangle, rows]), mode="r")
    return np.linalg.lstsq(triangle[:, :5], triangle[:, 5], rcond=None)[0]


def numpys_pass(path: Path) -> float:
    """Seconds of one evaluation of loss and gradient by numpy, block by block in float64."""
    begun = time.perf_counter()
    data = np.load(path, mmap_mode="r")
    w, gradient = np.ones(4), np.zeros(5)
    for at in range(0, len(data), 1 << 18):
        part = data[at : at + (1 << 18)].astype(np.float64)
        error = part[:, :4] @ w + 1.0 - part[:, 4]
        gradient += [*(2 * error @ part[:, :4]), 2 * error.sum()]
    return time.perf_counter() - begun


def gradcli(*words: str) -> tuple[str, float, float]:
    """What a command prints, its seconds, and the peak of memory of the largest of its processes, in MB."""
    code = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True);"
    code += "sys.stdout.buffer.write(done.stdout + b'%d' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    begun = time.perf_counter()
    words = (sys.executable, "-c", code, sys.executable, "-m", "gradcli", *words)
    out = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    text, _, peak = out.rpartition("\n")
    return text, time.perf_counter() - begun, int(peak) / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--workers", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.npy"
        make(path, options.rows)
        print(f"{options.rows:,} rows, {os.path.getsize(path) / 1e6:,.0f} MB", flush=True)
        words = [LOSS, f"d=@{path}", "w=0,0,0,0", "b=0", "--by-rows", "d", "--dtype", "float64", "--json"]
        fit = ["minimize", *words, "--method", "lbfgs", "--tol", "1e-7"]
        text, seconds, peak = gradcli(*fit)
        found = json.loads(text)
        reached = np.array([*found["variables"]["w"]["minimum"], found["variables"]["b"]["minimum"]])
        wanted = least_squares(path)
        off = np.abs(reached - wanted).max()
        print(f"fit: {seconds:.1f} s, {found['steps']} steps, {peak:.0f} MB at most, {off:.1e} from least squares {wanted}", flush=True)
        one, seconds, peak = gradcli("grad", *words)
        print(f"one pass: gradcli {seconds:.2f} s, {peak:.0f} MB, numpy {numpys_pass(path):.2f} s", flush=True)
        if options.workers:
            for where in (["--jobs", "2"], ["--jobs", "4"], *(["--scheduler", "local", "--jobs", str(n)] for n in (1, 2, 4))):
                text, seconds, _ = gradcli("grad", *words, *where)
                print(f"one pass {' '.join(where)}: {seconds:.2f} s, {'equal' if text == one else 'DIFFERENT'}", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
