"""`creval review`: look through what was built, and accept, change or drop it."""

from __future__ import annotations

from pathlib import Path

from creval.cli import options


def review(
    bench: options.Benchmark, host: options.Host = "127.0.0.1", port: options.Port = 0, open_: options.Open = False
) -> None:
    """Look through what was built in a browser: accept, change or drop it."""
    from creval.building.review.loader import open_review
    from creval.web.review.app import serve_review

    serve_review(open_review(Path(bench)), host, port, open_)
