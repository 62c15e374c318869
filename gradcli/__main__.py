"""The process `gradcli`, and `python -m gradcli`."""

from __future__ import annotations

import gc

from gradcli import limits


def main() -> None:
    """The console script."""
    gc.set_threshold(*limits.COLLECT)
    # imported here, so that the collector does not scan what the import makes
    from gradcli.cli import app

    try:
        app.main()
    finally:
        # Python collects garbage twice when it ends, and would scan all that is still in use
        gc.freeze()


if __name__ == "__main__":
    main()
