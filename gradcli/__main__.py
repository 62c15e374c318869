"""The process `gradcli`, and `python -m gradcli`."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """The console script."""
    try:
        from gradcli import limits

        gc.set_threshold(*limits.COLLECT)
        # imported here, so that the collector does not scan what the import makes
        from gradcli.cli import app
    except (ImportError, MemoryError, SystemError) as error:  # Python's own words where it has no memory
        if "--debug" in sys.argv:
            raise
        # the module that gives errors their usual form could not be loaded either
        why = " ".join(str(error).split()) or type(error).__name__
        raise SystemExit(
            f"gradcli cannot be loaded: {why}\n  a limit on memory (ulimit -v) may be too low; --debug shows the cause"
        ) from None
    try:
        app.main()
    finally:
        # Python collects garbage twice when it ends, and would scan all that is still in use
        gc.freeze()


if __name__ == "__main__":
    main()
