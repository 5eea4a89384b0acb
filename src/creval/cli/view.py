"""`creval view`: look at a run in a browser."""

from __future__ import annotations

from creval.cli import options


def view(
    run: options.RunFolder, host: options.Host = "127.0.0.1", port: options.Port = 0, open_: options.Open = False
) -> None:
    """Look at a run in a browser: scores, samples, questions, answers, images."""
    from creval.api import outputs

    outputs.view(run, host=host, port=port, open_browser=open_)
