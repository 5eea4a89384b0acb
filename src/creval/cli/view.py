"""`creval view`: look at a run in a browser."""

from __future__ import annotations

from pathlib import Path

from creval.cli import console, options


def view(
    run: options.RunFolder, host: options.Host = "127.0.0.1", port: options.Port = 0, open_: options.Open = False
) -> None:
    """Look at a run in a browser: scores, samples, questions, answers, images."""
    from creval.core.formatting import escape_control
    from creval.web.common.server import serve_app
    from creval.web.viewer.app import Viewer
    from creval.web.viewer.live_snapshot import LiveSnapshot

    line = console.ProgressLine()

    def watch(what: str) -> None:
        if line.due():
            line.show(f"{what} ...")

    current = LiveSnapshot(Path(run), watch)
    line.clear()
    try:
        serve_app(
            host,
            port,
            Viewer(current).app,
            console.print_note,
            f"viewing {escape_control(run)}",
            "Whoever reaches this machine can see the run: there is no password.",
            open_,
        )
    finally:
        current.close()
