"""`creval view`: look at a run in a browser."""

from __future__ import annotations

from pathlib import Path

from creval.cli import options, screen


def view(
    run: options.RunFolder,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    open_: options.Open = False,
) -> None:
    """Look at a run in a browser: scores, samples, questions, answers, pictures."""
    from creval.report.text import visible
    from creval.web.app import Viewer
    from creval.web.current import Current
    from creval.web.serve import serve_at

    line = screen.Line()

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
            screen.note,
            f"viewing {visible(run)}",
            "Whoever reaches this machine can see the run: there is no password.",
            open_,
        )
    finally:
        current.close()
