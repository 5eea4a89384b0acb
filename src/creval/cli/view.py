"""`creval view`: look at a run in a browser."""

from __future__ import annotations

from pathlib import Path

from creval.cli import console, options


def view(
    run: options.RunFolder,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    open_: options.Open = False,
) -> None:
    """Look at a run in a browser: scores, samples, questions, answers, pictures."""
    from creval.core.formatting import visible
    from creval.web.common.server import serve_at
    from creval.web.viewer.app import Viewer
    from creval.web.viewer.live_snapshot import Current

    line = console.Line()

    def watch(what: str) -> None:
        if line.due():
            line.show(f"{what} ...")

    current = Current(Path(run), watch)
    line.clear()
    try:
        serve_at(
            host,
            port,
            Viewer(current).app,
            console.note,
            f"viewing {visible(run)}",
            "Whoever reaches this machine can see the run: there is no password.",
            open_,
        )
    finally:
        current.close()
