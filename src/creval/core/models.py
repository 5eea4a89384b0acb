"""Models of the transformers library, from the hub or from a folder."""

from __future__ import annotations

import os
import socket
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from creval.core.errors import CrevalError

_SECONDS = 5.0  # in which the hub answers, if it can be reached at all


class Missing(CrevalError):  # noqa: N818
    """That a library or a model is not here, and what to do about it."""


def load_model(
    name: str, kind: str, *, device: str = "", dtype: str = "auto", processor: str = "AutoProcessor"
) -> tuple[Any, Any]:
    """A processor and a model, which the transformers class `kind` loads (`AutoModel`).

    Where it cannot be had, the error says why in a sentence.
    """
    try:
        torch = import_module("torch")
        transformers = import_module("transformers")
    except ImportError as error:
        raise Missing(
            f"{name} needs torch and transformers: pip install 'creval[local]' ({error})."
        ) from error
    folder = Path(name)
    if (folder.is_absolute() or name.startswith(".")) and not folder.is_dir():
        raise CrevalError(f"there is no folder {name} to load a model from.")
    if not folder.is_dir():
        check_reachable(name)
    try:
        prepares = getattr(transformers, processor).from_pretrained(name)
        model = getattr(transformers, kind).from_pretrained(name, dtype=dtype)
        return prepares, model.to(device or best_device(torch)).eval()
    except Exception as error:  # damaged files raise errors of many libraries
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{name} cannot be loaded: {reason}") from error


def best_device(torch: Any) -> str:
    """The fastest kind of device that is here."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def on_disk(name: str, file: str = "config.json") -> Path | None:
    """A file of a model on the hub, if it was downloaded before."""
    found = import_module("huggingface_hub").try_to_load_from_cache(name, file)
    return Path(found) if isinstance(found, str) else None


def check_reachable(name: str, file: str = "config.json") -> None:
    """Refuse a model that is neither here nor can be downloaded now; without the minutes that the
    library would try for."""
    if on_disk(name, file) is not None:
        return
    hub = import_module("huggingface_hub")
    if hub.constants.HF_HUB_OFFLINE:
        raise Missing(f"{name} was not downloaded, and HF_HUB_OFFLINE forbids it.")
    if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
        return
    host = urlsplit(hub.constants.ENDPOINT).hostname or ""
    try:
        socket.create_connection((host, 443), timeout=_SECONDS).close()
    except OSError as error:
        raise Missing(
            f"{name} was not downloaded, and {host} cannot be reached from here. Download it "
            "elsewhere, and give its folder."
        ) from error
