"""Checks of the requirements of a metric: packages to install and models to download or provide."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from creval.metrics.base import MetricInfo
from creval.metrics.model_loading import ModelInfo
from creval.providers.huggingface import find_cached_file

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Weight files on the hub. A model is downloaded if its `config.json` and one of these are cached."""


class MetricAvailability(NamedTuple):
    """Readiness of a metric on this machine, and the steps to take if it is not ready."""

    ready: bool
    to_do: tuple[str, ...]


def metric_availability(info: MetricInfo, models: Mapping[str, str] | None = None) -> MetricAvailability:
    """Return whether a metric can run here, and what to do if not. `models` are the chosen models by slot."""
    lacking = [name for name in info.packages if not _is_installed(name)]
    package = f"'creval[{info.extra}]' (for {', '.join(lacking)})" if info.extra else " ".join(lacking)
    to_do = [f"pip install {package}"] if lacking else []
    to_do += _model_steps(info, models or {}, installed=not lacking)
    return MetricAvailability(not to_do, tuple(to_do))


def _model_steps(info: MetricInfo, models: Mapping[str, str], *, installed: bool) -> list[str]:
    to_do = []
    for model in info.models:
        if model.slot in models or model.origin == "optional":
            continue
        size = f"{model.megabytes / 1000:.1f} GB" if model.megabytes >= 1000 else f"{model.megabytes} MB"
        what = f"{model.default} ({size})"
        if model.origin == "given":
            to_do.append(f"give `metric_models` {model.slot}=FILE: {what} from {model.home}")
        elif model.origin == "shipped" or (installed and _is_downloaded(model)):
            continue
        elif installed and model.origin == "hub" and import_module("huggingface_hub").constants.HF_HUB_OFFLINE:
            to_do.append(f"not downloaded, and HF_HUB_OFFLINE is set: {what}")
        else:
            # Some libraries do not document where they cache their model.
            needs = "may need" if installed and not model.file else "needs"
            to_do.append(f"{needs} a download at first use: {what}")
    return to_do


def _is_downloaded(model: ModelInfo) -> bool:
    if model.origin != "hub":
        return bool(model.file) and (Path.home() / model.file).exists()
    weights = _WEIGHTS if model.file == "config.json" else ()
    return find_cached_file(model.default, model.file) is not None and (
        not weights or any(find_cached_file(model.default, file) is not None for file in weights)
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a broken installation
        return False
