"""A process that runs scripts: `python child.py torch` under PyTorch, `python child.py gradcli` under gradcli.

It reads JSON texts, a line each, the first the prelude, and answers each with a line `{"out": ..., "warnings": [...], "error": ...}`. Every
script begins with fresh names, the seed 0, and warnings that none has been given of.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answer = dict[str, Any]


def under_torch(prelude: str) -> Callable[[str], Answer]:
    """What runs a script under the PyTorch of this Python."""
    import torch

    torch.set_num_threads(1)
    torch.set_warn_always(True)
    first = compile(prelude, "prelude", "exec")

    def run(script: str) -> Answer:
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        names: dict[str, Any] = {"__name__": "__main__"}
        out, error = io.StringIO(), None
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
            warnings.simplefilter("default")
            try:
                exec(first, names)
                exec(compile(script, "script", "exec"), names)
            except Exception as e:
                error = f"{type(e).__name__}: {e}"
        texts = [f"{w.category.__name__}: {w.message}".split("\n")[0] for w in caught if "torch.jit" not in str(w.message)]
        return {"out": out.getvalue(), "warnings": sorted({t.partition(" (Triggered internally")[0] for t in texts}), "error": error}

    return run


def under_gradcli(prelude: str) -> Callable[[str], Answer]:
    """What runs a script in a session of gradcli."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from gradcli import limits
    from gradcli.errors import GradcliError, InternalFault
    from gradcli.session import Session
    from gradcli.source import Source

    bounds = limits.default()

    def run(script: str) -> Answer:
        out: list[str] = []
        caught: set[str] = set()
        error = None

        def warn(category: str, message: str, _: object) -> None:
            caught.add(f"{category}: {message}".split("\n")[0].partition(" (Triggered internally")[0])

        session = Session(bounds=bounds, write=out.append, warn=warn, read_stdin=lambda: b"")
        try:
            session.run(Source("prelude", prelude), reuse=True)
            session.run(Source("script", script))
        except InternalFault as fault:
            error = f"InternalFault: {fault.message}"
        except GradcliError as known:
            error = f"{known.kind}: {known.message}"
        except Exception as fault:
            error = f"InternalFault: {type(fault).__name__}: {fault}"
        return {"out": "".join(out), "warnings": sorted(caught), "error": error}

    return run


def main() -> None:
    prelude = json.loads(sys.stdin.readline())
    # what a library writes to the standard output of the process is no answer
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    run = {"torch": under_torch, "gradcli": under_gradcli}[sys.argv[1]](prelude)
    for line in sys.stdin:
        answers.write(json.dumps(run(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
