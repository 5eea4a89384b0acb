"""`creval gauges`: what can be measured, and what that takes."""

from __future__ import annotations

from creval.cli import options, screen


def gauges(json: options.Json = False) -> None:
    """List what can be measured, whether it can be here, what to install, and the licences."""
    from creval.gauges.gauge import gauge_kind, gauge_names
    from creval.gauges.readiness import readiness
    from creval.report.gauges import listed

    cards = [gauge_kind(name).card for name in gauge_names()]
    screen.show(listed([(card, readiness(card)) for card in cards]), json)
