"""gradcli beside its peers: one command prints the whole table.

    python benchmarks/run.py                 everything
    python benchmarks/run.py start small     some groups: start, parse, small, loops, large, graph

Every figure is a median of several rounds in which the contestants take turns, so that a machine whose speed drifts
slows them alike; what counts is the ratio. Peers that are not installed are left out. Each timed result is compared
with the peer's before it is believed.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gradcli.lang.interpreter.interpreter import Interpreter  # noqa: E402
from gradcli.lang.syntax import parser  # noqa: E402
from gradcli.source import Source  # noqa: E402

#: what is timed, and what gives the results of its last call as numbers
Contestant = tuple[Callable[[], Any], Callable[[], Any]]

POLY = "mean((x+2)*(x+2)*2)"
TRANSCENDENTAL = "sum(sigmoid(x)*exp(-x*x)+sin(x))"

REGRESSION = """
import torch
import torch.optim as optim
torch.manual_seed(13)
x_train = torch.rand(80, 1)
y_train = 1 + 2 * x_train + 0.1 * torch.randn(80, 1)
torch.manual_seed(42)
b = torch.randn(1, requires_grad=True)
w = torch.randn(1, requires_grad=True)
lr = 0.1
{setup}
for epoch in range(1000):
    yhat = b + w * x_train
    error = (yhat - y_train)
    loss = (error ** 2).mean()
    loss.backward()
{update}
"""
BY_HAND = REGRESSION.format(
    setup="",
    update="    with torch.no_grad():\n        b -= lr * b.grad\n        w -= lr * w.grad\n    b.grad.zero_()\n    w.grad.zero_()",
)
WITH_SGD = REGRESSION.format(setup="optimizer = optim.SGD([b, w], lr=lr)", update="    optimizer.step()\n    optimizer.zero_grad()")


def installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def compare(contestants: dict[str, Callable[[], Any]], rounds: int = 9, least: float = 0.02) -> dict[str, float]:
    """Median seconds of one call for each contestant, measured in turns."""
    counts: dict[str, int] = {}
    for name, run in contestants.items():
        run()
        start = time.perf_counter()
        run()
        counts[name] = max(1, min(20000, int(least / max(time.perf_counter() - start, 1e-7))))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(values) for name, values in times.items()}


def show(title: str, times: dict[str, float], target: str = "") -> None:
    """One line: seconds of each and the ratio of gradcli to it."""
    own = times["gradcli"]
    cells = [f"gradcli {unit(own)}"]
    cells += [f"{name} {unit(value)} (x{own / value:.2f})" for name, value in times.items() if name != "gradcli"]
    print(f"{title:44} {'   '.join(cells)}{'   target ' + target if target else ''}", flush=True)


def unit(seconds: float) -> str:
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def interpreter() -> Interpreter:
    return Interpreter(write=lambda _: None, warn=lambda *_: None, one_off=True)


# --- start -------------------------------------------------------------------------------------------------------


def start() -> None:
    """Whole processes."""
    command = shutil.which("gradcli", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    own = [command] if command else [sys.executable, "-m", "gradcli"]
    python = sys.executable
    quiet = {"stdout": subprocess.DEVNULL, "check": True, "cwd": str(HERE.parent)}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def process(*words: str) -> Callable[[], Any]:
        return lambda: subprocess.run(words, env=environment, **quiet)  # type: ignore[call-overload]

    answer = subprocess.run([*own, "grad", POLY, "x=1,2,3", "--format", "csv"], capture_output=True, text=True, check=True, env=environment)
    assert "x,0,1.0,4.0" in answer.stdout, answer.stdout
    grad = process(*own, "grad", POLY, "x=1,2,3")
    numpy_import = process(python, "-c", "import numpy")
    show("start: grad, against import numpy", compare({"gradcli": grad, "numpy": numpy_import}, 11, 0), "2.2")
    for words, target in (
        (("grad", POLY, "x=1,2,3", "--format", "json"), "1.9"),
        (("eval", POLY, "x=1,2,3"), "1.9"),
        (("--version",), "0.85"),
        (("--help",), "0.85"),
    ):
        named = " ".join(word for word in words if word not in (POLY, "x=1,2,3", "--format"))
        show(f"start: {named}, against import numpy", compare({"gradcli": process(*own, *words), "numpy": numpy_import}, 11, 0), target)
    if installed("torch"):
        program = "import torch; x=torch.tensor([1.,2.,3.],requires_grad=True); ((x+2)*(x+2)*2).mean().backward(); print(x.grad)"
        show("start: grad, against torch", compare({"gradcli": grad, "torch": process(python, "-c", program)}, 5, 0), "0.13")


# --- parsing -----------------------------------------------------------------------------------------------------


def parse() -> None:
    """16 tokens, against Lark's default pipeline on the same grammar."""
    from lark import Lark

    text = POLY
    grammar = HERE / "expression.lark"
    default = Lark(grammar.read_text(encoding="utf-8"), parser="lalr", propagate_positions=True)
    assert default.parse(text) is not None
    tree = parser.parse_expression(Source("<benchmark>", text))
    assert tree.text == text
    source = Source("<benchmark>", text)

    def fresh() -> Any:
        return parser.Trees().tree(source, "expression_only")

    show("parse: 16 tokens, against Lark's default", compare({"gradcli": fresh, "lark": lambda: default.parse(text)}), "0.5")
    show("parse: the same text again", compare({"gradcli": lambda: parser.parse_expression(source)}), "5 us")


# --- small tensors -----------------------------------------------------------------------------------------------


def small() -> None:
    """Three elements, forward and backward."""
    run = interpreter()
    run.run(parser.parse_file(Source("<setup>", "import torch\nx = torch.tensor([1., 2., 3.], requires_grad=True)\n")))
    program = parser.parse_file(Source("<loop>", "for _ in range(200):\n    x.grad = None\n    ((x+2)*(x+2)*2).mean().backward()\n"))
    run.run(program)
    expected = [4.0, 16 / 3, 20 / 3]
    assert np.allclose(run.get("x").grad.tolist(), expected)
    contestants: dict[str, Callable[[], Any]] = {"gradcli": lambda: run.run(program)}
    torch = installed("torch")
    if torch:
        torch.set_num_threads(2)
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

        def in_torch() -> None:
            for _ in range(200):
                x.grad = None
                ((x + 2) * (x + 2) * 2).mean().backward()

        in_torch()
        assert np.allclose(x.grad.tolist(), expected)
        contestants["torch"] = in_torch
    contestants |= _small_peers(expected)
    times = {name: value / 200 for name, value in compare(contestants).items()}
    show("small: poly of 3 elements", times, "0.35 of torch")


def _small_peers(expected: list[float]) -> dict[str, Callable[[], Any]]:
    peers: dict[str, Callable[[], Any]] = {}
    values = np.array([1.0, 2.0, 3.0], np.float32)
    if installed("autograd"):
        anp = import_module("autograd.numpy")
        gradient = import_module("autograd").grad(lambda x: anp.mean((x + 2) * (x + 2) * 2))
        assert np.allclose(gradient(values), expected)
        peers["autograd"] = lambda: [gradient(values) for _ in range(200)]
    mygrad = installed("mygrad")
    if mygrad:

        def in_mygrad() -> Any:
            for _ in range(200):
                x = mygrad.tensor(values)
                mygrad.mean((x + 2) * (x + 2) * 2).backward()
            return x.grad

        assert np.allclose(in_mygrad(), expected)
        peers["mygrad"] = in_mygrad
    if installed("micrograd"):
        value = import_module("micrograd.engine").Value

        def in_micrograd() -> list[float]:
            for _ in range(200):
                xs = [value(1.0), value(2.0), value(3.0)]
                total = sum((x + 2) * (x + 2) * 2 for x in xs) * (1 / 3)
                total.backward()
            return [x.grad for x in xs]

        assert np.allclose(in_micrograd(), expected)
        peers["micrograd"] = in_micrograd
    jax = installed("jax")
    if jax:
        jit = jax.jit(jax.value_and_grad(lambda x: ((x + 2) * (x + 2) * 2).mean()))
        held = jax.numpy.asarray(values)
        assert np.allclose(jit(held)[1], expected)
        peers["jax.jit"] = lambda: [jit(held)[1].block_until_ready() for _ in range(200)]
    return peers


# --- loops -------------------------------------------------------------------------------------------------------


NETWORK = """
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(64, 10)
Y = torch.randn(64, 1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()
for epoch in range(200):
    opt.zero_grad()
    loss = loss_fn(model(X), Y)
    loss.backward()
    opt.step()
"""


#: for each row the program, and the names of its results
LOOPS = {
    "1,000 epochs by hand": (BY_HAND, ("b", "w")),
    "1,000 epochs with SGD": (WITH_SGD, ("b", "w")),
    "200 epochs of two layers, Adam": (NETWORK, ("loss",)),
}


def loops() -> None:
    """Epochs of the regression, by hand and with the optimiser, and of a network; the interpreter's own work included."""
    for title, target in zip(LOOPS, ("0.5", "0.5", "1"), strict=True):
        show(f"loops: {title}", in_processes(title, 0, ("torch",))[0], f"{target} of torch")


def _own_loop(title: str, size: int) -> Contestant:
    text, names = LOOPS[title]
    program = parser.parse_file(Source("<loop>", text))

    def results() -> list[float]:
        run = interpreter()
        run.run(program)
        return [run.get(name).item() for name in names]

    return lambda: interpreter().run(program), results


def _torch_loop(title: str, size: int) -> Contestant:
    import_module("torch").set_num_threads(2)
    text, names = LOOPS[title]
    code = compile(text, "<loop>", "exec")
    held: dict[str, Any] = {}

    def run() -> None:
        held.clear()
        exec(code, held)  # the benchmark's own text, run by Python for torch

    return run, lambda: [held[name].item() for name in names]


# --- large arrays ------------------------------------------------------------------------------------------------


def large() -> None:
    """Both expressions at growing sizes, forward and backward."""
    for title, text in (("poly", POLY), ("transcendental", TRANSCENDENTAL)):
        for size in (10**5, 10**6, 10**7):
            times, grown = in_processes(text, size, ("torch", "jax"))
            target = "0.5 of torch" + (", 1 of jax" if size == 10**7 else "")
            show(f"large: {title} of {size:,}", times, target)
            if size == 10**7:
                peaks = "   ".join(f"{name} {value / 2**20:.0f} MB" for name, value in grown.items())
                print(f"{'':44} peak above x: {peaks}   target 102 MB: the gradient and 64 MB")


def in_processes(task: str, size: int, peers: tuple[str, ...]) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds of one call, and bytes of memory, each contestant in a process of its own.

    How the memory allocator and the collection of garbage are set counts for much, and belongs to the contestant that sets them.
    """
    names = ["gradcli", *filter(installed, peers)]
    workers = {name: Worker(name, task, size) for name in names}
    try:
        results = {name: worker.results() for name, worker in workers.items()}
        for name in names[1:]:
            assert np.allclose(results["gradcli"], results[name], rtol=2e-4, atol=1e-9), f"gradcli and {name} disagree"
        rounds = [{name: worker.seconds() for name, worker in workers.items()} for _ in range(9)]
        return {name: statistics.median(r[name] for r in rounds) for name in names}, {name: workers[name].grown() for name in names}
    finally:
        for worker in workers.values():
            worker.stop()


class Worker:
    """A contestant in its own process, which answers one command a line: its results, the seconds of a call, its memory."""

    def __init__(self, name: str, task: str, size: int) -> None:
        command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, task, str(size)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _ask(self, what: str) -> bytes:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{what}\n".encode())
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def results(self) -> Any:
        path = self._ask("results").decode().strip()
        found = np.load(path)
        os.unlink(path)
        return found

    def seconds(self) -> float:
        return float(self._ask("seconds"))

    def grown(self) -> float:
        """Bytes by which the first call went beyond what the process held with x already built."""
        return float(self._ask("grown"))

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def memory(which: str) -> float:
    """What this process holds (VmRSS), or the most it ever held (VmHWM), in bytes; nan where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(which))


def work(name: str, task: str, size: int) -> None:
    """The other end of a Worker."""
    import tempfile

    kind = "loop" if task in LOOPS else "script" if task == "script" else "large"
    run, results = CONTESTANTS[kind, name](task, size)
    held = memory("VmRSS")
    run()
    run()
    grown = memory("VmHWM") - held
    run()  # a plan is made of the second call, and holds from the third on
    start = time.perf_counter()
    run()
    count = max(1, int(0.1 / (time.perf_counter() - start)))
    for line in sys.stdin:
        if line.strip() == "results":
            with tempfile.NamedTemporaryFile(suffix=".npy", delete=False) as file:
                np.save(file, results())
            print(file.name, flush=True)
        elif line.strip() == "seconds":
            start = time.perf_counter()
            for _ in range(count):
                run()
            print((time.perf_counter() - start) / count, flush=True)
        else:
            print(grown, flush=True)


def numbers(size: int) -> Any:
    """The same float32 numbers for every contestant."""
    return np.random.default_rng(0).random(size, np.float32)


def _own_large(text: str, size: int) -> Contestant:
    run = interpreter()
    setup = f"from torch import *\nx = tensor([0.])\ndef step():\n    x.grad = None\n    ({text}).backward()\n"
    run.run(parser.parse_file(Source("<setup>", setup)))
    leaf = run.get("x")
    leaf.array = numbers(size)
    leaf.requires_grad = True
    program = parser.parse_file(Source("<large>", "step()\n"))
    return lambda: run.run(program), lambda: leaf.grad.array


def _torch_large(text: str, size: int) -> Contestant:
    torch = import_module("torch")
    torch.set_num_threads(2)
    x = torch.from_numpy(numbers(size)).requires_grad_()
    formulas = {
        POLY: lambda: ((x + 2) * (x + 2) * 2).mean(),
        TRANSCENDENTAL: lambda: (torch.sigmoid(x) * torch.exp(-x * x) + torch.sin(x)).sum(),
    }

    def run() -> None:
        x.grad = None
        formulas[text]().backward()

    return run, lambda: x.grad.numpy()


def _jax_large(text: str, size: int) -> Contestant:
    jax = import_module("jax")
    jnp = jax.numpy
    functions = {
        POLY: lambda x: ((x + 2) * (x + 2) * 2).mean(),
        TRANSCENDENTAL: lambda x: (jax.nn.sigmoid(x) * jnp.exp(-x * x) + jnp.sin(x)).sum(),
    }
    jit = jax.jit(jax.value_and_grad(functions[text]))
    held = jnp.asarray(numbers(size))
    return lambda: jit(held)[1].block_until_ready(), lambda: np.asarray(jit(held)[1])


# --- graphs ------------------------------------------------------------------------------------------------------


def graph() -> None:
    """A chain of many operations on 3 elements; a script of 10,000 distinct lines."""
    import resource

    for count in (10**5, 10**6):
        text = f"import torch\nx = torch.tensor([1., 2., 3.], requires_grad=True)\ny = x\nfor _ in range({count}):\n    y = y + x\n"
        run = interpreter()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        run.run(parser.parse_file(Source("<chain>", text)))
        run.run(parser.parse_file(Source("<back>", "y.sum().backward()\n")))
        spent = time.perf_counter() - started
        assert run.get("x").grad.tolist() == [count + 1.0] * 3
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / count
        figures = f"{unit(spent)}, {spent / count * 1e6:.2f} us and {memory:.0f} bytes a node"
        print(f"graph: {count:,} nodes {figures}   target linear, 1,200 bytes")
    show("graph: script of 10,000 distinct lines", in_processes("script", 10_000, ("torch",))[0], "1 of torch")


def _script(count: int) -> str:
    lines = ["import torch", "x = torch.tensor([1., 2., 3.], requires_grad=True)", "total = 0."]
    lines += [f"total = total + (x * {i}.5 + {i + 1}).sum()" for i in range(count)]
    return "\n".join([*lines, "total.backward()", ""])


def _own_script(task: str, size: int) -> Contestant:
    text, held = _script(size), {}

    def run() -> None:
        held["run"] = interpreter()
        held["run"].run(parser.parse_file(Source("<long>", text)))

    return run, lambda: held["run"].get("x").grad.array


def _torch_script(task: str, size: int) -> Contestant:
    import_module("torch").set_num_threads(2)
    text = _script(size)
    held: dict[str, Any] = {}

    def run() -> None:
        held.clear()
        exec(compile(text, "<long>", "exec"), held)  # the benchmark's own text

    return run, lambda: held["x"].grad.numpy()


#: by kind of task and name
CONTESTANTS: dict[tuple[str, str], Callable[[str, int], Contestant]] = {
    ("loop", "gradcli"): _own_loop,
    ("loop", "torch"): _torch_loop,
    ("large", "gradcli"): _own_large,
    ("large", "torch"): _torch_large,
    ("large", "jax"): _jax_large,
    ("script", "gradcli"): _own_script,
    ("script", "torch"): _torch_script,
}
GROUPS = {"start": start, "parse": parse, "small": small, "loops": loops, "large": large, "graph": graph}


def main() -> None:
    """Print the machine, the versions and the groups asked for."""
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    found = []
    for name in ("numpy", "lark", "torch", "jax", "autograd", "mygrad", "micrograd"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    print(", ".join(found))
    for name in sys.argv[1:] or GROUPS:
        GROUPS[name]()


if __name__ == "__main__":
    main()
