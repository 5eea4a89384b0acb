"""Whether a gauge can run here, and what to install, download or give where it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from creval.metrics.base import GaugeCard, ModelCard
from creval.providers.huggingface import on_disk

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Files on the hub that hold a model's weights, one of which comes after its `config.json`."""


class Readiness(NamedTuple):
    """Whether a gauge can measure as things are here, and what is to be done first where not."""

    ready: bool
    to_do: tuple[str, ...]


def readiness(card: GaugeCard, models: Mapping[str, str] | None = None) -> Readiness:
    """Whether a gauge can run here with these models, by what they are for."""
    lacking = [name for name in card.packages if not _there(name)]
    to_do = [f"pip install 'creval[{card.extra}]' (for {', '.join(lacking)})"] if lacking else []
    to_do += _models(card, models or {}, there=not lacking)
    return Readiness(not to_do, tuple(to_do))


def _models(card: GaugeCard, models: Mapping[str, str], *, there: bool) -> list[str]:
    to_do = []
    for model in card.models:
        if model.use in models or model.comes == "optional":
            continue
        what = f"{model.default} ({_size(model)})"
        if model.comes == "given":
            to_do.append(f"give --gauge {model.use}=FILE: {what} from {model.home}")
        elif model.comes == "shipped" or (there and _here(model)):
            continue
        elif there and model.comes == "hub" and _offline():
            to_do.append(f"not here, and HF_HUB_OFFLINE is set: {what}")
        else:
            # Where a library keeps its model is not always known.
            needs = "may need" if there and not model.file else "needs"
            to_do.append(f"{needs} a download: {what}, at first use")
    return to_do


def _here(model: ModelCard) -> bool:
    if model.comes != "hub":
        return bool(model.file) and (Path.home() / model.file).exists()
    weights = _WEIGHTS if model.file == "config.json" else ()
    return on_disk(model.default, model.file) is not None and (
        not weights or any(on_disk(model.default, file) is not None for file in weights)
    )


def _offline() -> bool:
    return bool(import_module("huggingface_hub").constants.HF_HUB_OFFLINE)


def _size(model: ModelCard) -> str:
    size = model.megabytes
    return f"{size / 1000:.1f} GB" if size >= 1000 else f"{size} MB"


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # one that is half there
        return False
