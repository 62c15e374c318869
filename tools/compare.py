"""Compares every public function and method of gradcli with an installed PyTorch 2.13, by calls that a seeded generator makes.

    python tools/compare.py --torch-python VENV/bin/python                     200 calls of every function
    python tools/compare.py --torch-python VENV/bin/python 'torch.sin*' -n 50  50 calls of the functions of these names
    python tools/compare.py ... --results FILE                                 keep what is found; run again, it goes on
    python tools/compare.py ... --results FILE --report                        only the table of what FILE has
    python tools/compare.py ... --casebook FILE                                write the shortest call of each kind as a case

Names are shell patterns of `torch.sin`, `torch.nn.functional.gelu`, `Tensor.sin_`; `--module` picks those of a module below
gradcli/core/ops, such as `linalg.*`. Each call is observed under both: value, dtype, shape, strides, graph, saved values, gradients of
first and second order, tangents, warnings, errors. docs/differences.md has the known differences, which count as `known`. The exit code
is 1 where something differs that is neither known nor refused.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gradcli.core.functions import catalog  # noqa: E402
from tests import casebook  # noqa: E402
from tests.casebook import Case, Casebook  # noqa: E402
from tools.comparison import calls, probes, verdicts  # noqa: E402
from tools.comparison.calls import Subject  # noqa: E402
from tools.comparison.children import Child  # noqa: E402
from tools.comparison.verdicts import FINE, KINDS  # noqa: E402

KNOWN = ROOT / "docs" / "differences.md"
Run = Callable[[str], dict[str, Any]]
#: what is kept of a call: its function, number, text of the script, verdict and differences
Row = dict[str, Any]


def compared(subject: Subject, number: int, seed: int, theirs: Run, ours: Run, allowed: list[verdicts.Known]) -> Row:
    """One call under both implementations."""
    call = calls.make(subject, number, seed)
    script = probes.script(call)
    found = verdicts.differences(subject.name, theirs(script), ours(script), allowed, "; ".join([*call.setup, call.text]))
    if verdicts.verdict(found) in ("wrong value", "saved"):
        found = verdicts.settled(found, theirs(probes.WIDE + script), _family(subject.name).startswith("linalg."))
    return {
        "name": subject.name,
        "number": number,
        "mode": call.mode,
        "call": "; ".join([*call.setup, call.text]),
        "verdict": verdicts.verdict(found),
        "differences": [vars(d) for d in found if d.kind != "known"],
    }


def _family(name: str) -> str:
    kind, _, rest = name.partition(".")
    return (catalog.METHODS if kind == "Tensor" else catalog.FUNCTIONS)[rest]


def chosen(patterns: list[str], modules: list[str]) -> list[Subject]:
    """The functions that fit one of the patterns, and belong to one of the modules."""

    def fits(name: str) -> bool:
        short = name.replace("torch.nn.functional.", "F.")
        named = not patterns or any(fnmatchcase(n, p) for p in patterns for n in (name, short))
        return named and (not modules or any(fnmatchcase(_family(name), m) for m in modules))

    return [s for s in calls.subjects() if fits(s.name)]


def rows(work: list[tuple[Subject, int]], options: argparse.Namespace, allowed: list[verdicts.Known]) -> Iterator[Row]:
    """The calls of `work`, each compared, by `--processes` pairs of children."""

    def share(part: list[tuple[Subject, int]], put: Callable[[Row], None]) -> None:
        with Child("torch", probes.PRELUDE, options.torch_python) as theirs, Child("gradcli", probes.PRELUDE) as ours:
            for subject, number in part:
                put(compared(subject, number, options.seed, theirs.run, ours.run, allowed))

    if options.processes == 1:
        with Child("torch", probes.PRELUDE, options.torch_python) as theirs, Child("gradcli", probes.PRELUDE) as ours:
            for subject, number in work:
                yield compared(subject, number, options.seed, theirs.run, ours.run, allowed)
        return
    from queue import SimpleQueue

    queue: SimpleQueue[Row] = SimpleQueue()
    with ThreadPoolExecutor(options.processes) as pool:
        for i in range(options.processes):
            pool.submit(share, work[i :: options.processes], queue.put)
        for _ in work:
            yield queue.get()


def table(found: Iterable[Row]) -> str:
    """The counts of each function, those with differences that nobody announced first, and the sum."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in found:
        counts[row["name"]][row["verdict"]] += 1
    lines = [f"{'calls':>6} {'fine %':>7}  function"]
    total: Counter[str] = Counter()
    for name, count in sorted(counts.items(), key=lambda item: (_fine(item[1]), item[0])):
        total += count
        rest = ", ".join(f"{count[k]} {k}" for k in KINDS if count[k] and k != "equal")
        if rest:
            lines.append(f"{count.total():6} {100 * _fine(count):7.2f}  {name}: {rest}")
    if total:
        lines.append(f"{total.total():6} {100 * _fine(total):7.2f}  all: " + ", ".join(f"{total[k]} {k}" for k in KINDS if total[k]))
        lines.append(
            f"{sum(_fine(c) >= 0.98 for c in counts.values())} of {len(counts)} functions are fine in at least 98 % of their calls"
        )
    return "\n".join(lines)


def _fine(count: Counter[str]) -> float:
    return sum(count[k] for k in FINE) / count.total()


def shortest(found: Iterable[Row]) -> dict[tuple[str, str, str], Row]:
    """For each function, kind and fact that differs the row with the shortest call."""
    best: dict[tuple[str, str, str], Row] = {}
    for row in found:
        for d in row["differences"]:
            if d["kind"] not in FINE:
                key = (row["name"], d["kind"], d["fact"])
                if key not in best or len(row["call"]) < len(best[key]["call"]):
                    best[key] = row
    return best


def examples(found: list[Row], kinds: str = "*", width: int = 600) -> str:
    """The shortest call of each kind of difference of each function, with both texts."""
    lines = []
    for (name, kind, fact), row in sorted(shortest(found).items(), key=lambda item: (KINDS.index(item[0][1]), item[0])):
        if not fnmatchcase(kind, kinds):
            continue
        d = next(d for d in row["differences"] if (d["kind"], d["fact"]) == (kind, fact))
        lines += [f"\n=== {name}, {kind} of {fact} (call {row['number']}, {row['mode']}): {row['call']}"]
        lines += [f"- {line}" for line in d["theirs"][:width].split("\n")] + [f"+ {line}" for line in d["ours"][:width].split("\n")]
    return "\n".join(lines)


def write_cases(path: Path, found: list[Row], seed: int) -> None:
    """Add the shortest calls to a casebook; `tools/record.py` records them."""
    book = casebook.read(path) if path.exists() else Casebook("Calls that the comparison with PyTorch found.\n", "", ())
    titles = {case.title for case in book.cases}
    by_name = {s.name: s for s in calls.subjects()}
    added = []
    for (name, kind, fact), row in shortest(found).items():
        title = f"{name.replace('.', '_')} {kind} {row['number']}".replace(" ", "_")
        if title not in titles:
            titles.add(title)
            added.append(Case(path, 0, title, probes.case(calls.make(by_name[name], row["number"], seed), fact)))
    path.write_text(casebook.write(Casebook(book.introduction, book.before, (*book.cases, *added))), encoding="utf-8")


def _read(path: Path | None) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path and path.exists() else []


def _compare(options: argparse.Namespace, found: list[Row], subjects: list[Subject]) -> None:
    """Make the calls that are missing in `found`, and add them to it and to the file of results."""
    allowed = verdicts.known(KNOWN)
    done = {(row["name"], row["number"]) for row in found}
    work = [(s, n) for n in range(options.calls) for s in subjects if (s.name, n) not in done]
    if options.out:
        work = [(s, n) for s, n in work if calls.passes_out(s, n, options.seed)]
    random.Random(options.seed).shuffle(work)
    results: TextIO | None = options.results.open("a", encoding="utf-8") if options.results else None
    try:
        for row in rows(work, options, allowed):
            found.append(row)
            if results:
                results.write(json.dumps(row) + "\n")
                results.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    finally:
        if results:
            results.close()


def main() -> int:
    """Compare, and print the table; the exit code is 1 where something differs that is neither known nor refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="patterns of functions; all if there is none")
    parser.add_argument(
        "--module", action="append", default=[], metavar="PATTERN", help="only functions of these modules of gradcli/core/ops"
    )
    parser.add_argument("--torch-python", default="", metavar="PATH", help="the Python that has PyTorch 2.13")
    parser.add_argument("-n", "--calls", type=int, default=200, help="calls of each function (200)")
    parser.add_argument("--out", action="store_true", help="of these calls only those with `out=`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1, help="pairs of processes at a time (1)")
    parser.add_argument("--results", type=Path, metavar="FILE", help="JSON lines, read and continued")
    parser.add_argument("--casebook", type=Path, metavar="FILE", help="write the shortest call of each kind as a case without output")
    parser.add_argument("--report", action="store_true", help="compare nothing, report what the results have")
    parser.add_argument(
        "--examples", nargs="?", const="*", metavar="KIND", help="print the shortest call of each kind too, or of kinds like KIND"
    )
    options = parser.parse_args()
    subjects = chosen(options.names, options.module)
    names = {s.name for s in subjects}
    found = [row for row in _read(options.results) if row["name"] in names]
    if not options.report:
        if not options.torch_python:
            parser.error("--torch-python names the Python that has PyTorch")
        _compare(options, found, subjects)
    if options.casebook:
        write_cases(options.casebook, found, options.seed)
    if options.examples:
        print(examples(found, options.examples))
    print(table(found))
    return int(any(row["verdict"] not in FINE for row in found))


if __name__ == "__main__":
    raise SystemExit(main())
