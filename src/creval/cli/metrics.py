"""`creval metrics`: what can be measured, and what that takes."""

from __future__ import annotations

from creval.cli import console, options


def metrics(json: options.Json = False) -> None:
    """List what can be measured, whether it can be here, what to install, and the licences."""
    from creval import registry
    from creval.metrics.availability import metric_availability
    from creval.metrics.base import image_metric_class
    from creval.reporting.commands.metrics_output import metric_list_output

    infos = {name: image_metric_class(name).info for name in registry.metrics.names()}
    packages = {info.name: registry.metrics.origin(name) for name, info in infos.items()}
    listed = [(info, metric_availability(info)) for info in infos.values()]
    console.print_output(metric_list_output(listed, packages), json)
