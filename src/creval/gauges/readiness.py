"""Whether a gauge can run here, and what to install, download or give where it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from creval.core.models import on_disk
from creval.gauges.card import GaugeCard, ModelCard


class Readiness(NamedTuple):
    """What is to be done before a gauge measures, if anything; whether it is `ready` says that the
    rest comes by itself."""

    ready: bool
    to_do: tuple[str, ...]


def readiness(card: GaugeCard, models: Mapping[str, str] | None = None) -> Readiness:
    """Whether a gauge can run here with these models, by what they are for."""
    lacking = [name for name in card.packages if not _there(name)]
    if lacking:
        install = f"pip install 'creval[{card.extra}]' (for {', '.join(lacking)})"
        return Readiness(False, (install, *_models(card, models or {}, there=False)))
    to_do = tuple(_models(card, models or {}, there=True))
    return Readiness(not any(line.startswith("give") for line in to_do), to_do)


def _models(card: GaugeCard, models: Mapping[str, str], *, there: bool) -> list[str]:
    to_do = []
    for model in card.models:
        if model.use in models or model.comes == "optional":
            continue
        if model.comes == "given":
            to_do.append(
                f"give --gauge {model.use}=FILE: {model.default} ({_size(model)}) from {model.home}"
            )
        elif model.comes in ("hub", "library") and not (there and _here(model)):
            to_do.append(f"downloads {model.default} ({_size(model)}) at first use")
    return to_do


def _here(model: ModelCard) -> bool:
    if model.comes == "hub":
        return on_disk(model.default, model.file) is not None
    return bool(model.file) and (Path.home() / model.file).exists()


def _size(model: ModelCard) -> str:
    size = model.megabytes
    return f"{size / 1000:.1f} GB" if size >= 1000 else f"{size} MB"


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # one that is half there
        return False
