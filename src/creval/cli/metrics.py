"""`creval gauges`: what can be measured, and what that takes."""

from __future__ import annotations

from creval.cli import console, options


def gauges(json: options.Json = False) -> None:
    """List what can be measured, whether it can be here, what to install, and the licences."""
    from creval.metrics.availability import readiness
    from creval.metrics.base import gauge_kind, gauge_names
    from creval.report.commands.metrics import listed

    cards = [gauge_kind(name).card for name in gauge_names()]
    console.show(listed([(card, readiness(card)) for card in cards]), json)
