"""Models of the transformers library, from the hub or from a folder."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from creval.core.errors import CrevalError

_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_CONFIG_FILES = ("config.json", "adapter_config.json")  # one of which is in every model's folder
# Weights that published models lack, and that nothing is computed with.
_UNUSED_WEIGHTS = re.compile(r"\bposition_ids$|\bpooler\.|\bfusion_stage\.layers\.0\.residual_layer1\.")
_HUB_TIMEOUT = 5.0  # in which the hub answers, if it can be reached at all


class DependencyMissing(CrevalError):  # noqa: N818
    """That a library, or a model that nobody chose, is not here, and what to do about it."""


def load_model(
    name: str, kind: str, *, device: str = "", dtype: str = "auto", processor: str = "AutoProcessor"
) -> tuple[Any, Any]:
    """Load a processor and a model, the latter by the transformers class `kind`; `CrevalError` says why it cannot."""
    try:
        torch = import_module("torch")
        transformers = import_module("transformers")
    except ImportError as error:
        raise DependencyMissing(
            f"{name} needs torch and transformers: pip install 'creval[local]' ({error})."
        ) from error
    folder = Path(name)
    if (folder.is_absolute() or name.startswith(".")) and not folder.is_dir():
        raise CrevalError(f"there is no folder {name} to load a model from.")
    here = {}
    if not folder.is_dir():
        here = {"local_files_only": not check_hub_reachable(name)}
    elif not any((folder / file).is_file() for file in _CONFIG_FILES):
        raise CrevalError(f"{name} cannot be loaded: there is no {_CONFIG_FILES[0]} in that folder.")
    _quieten(transformers)
    try:
        prepares = getattr(transformers, processor).from_pretrained(name, **here)
        model, loaded = getattr(transformers, kind).from_pretrained(name, dtype=dtype, output_loading_info=True, **here)
        model = model.to(device or best_device(torch)).eval()
    except Exception as error:  # damaged files raise errors of many libraries
        raise CrevalError(f"{name} cannot be loaded: {_first_sentence(error)}.") from error
    if missing := sorted(key for key in loaded["missing_keys"] if not _UNUSED_WEIGHTS.search(key)):
        raise CrevalError(
            f"{name} cannot be loaded: it lacks {len(missing)} weights, such as {missing[0]}, and "
            "with others in their place it would say something else each time."
        )
    tokens = getattr(prepares, "tokenizer", None)
    words = getattr(getattr(model.config, "text_config", model.config), "vocab_size", 0)
    if tokens is not None and len(tokens) < words / 2:
        raise CrevalError(
            f"{name} cannot be loaded: its tokenizer knows {len(tokens)} of {words} tokens; its "
            "files are missing, or damaged."
        )
    if here:
        record_commit(name, find_cached_file(name))
    return prepares, model


def _first_sentence(error: Exception) -> str:
    """What a library says in its first sentence; the rest is advice to programmers."""
    said = str(error).strip()
    if other := re.match(r"Unrecognized configuration class [^>\n]{0,300}?\b(\w{1,100})'?>", said):
        return f"it is a model of another kind ({other[1]})"
    return re.split(r"\n|\.\s", said)[0].rstrip(". \r\t") or type(error).__name__


def _quieten(transformers: Any) -> None:
    """Silence the library's logs and bars, which would break creval's own line; the hub's downloads stay visible."""
    hub = import_module("huggingface_hub").utils
    shown = not hub.are_progress_bars_disabled()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if shown:
        hub.enable_progress_bars()


def best_device(torch: Any) -> str:
    """The fastest kind of device that is here."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


_loaded_commits: dict[str, str] = {}


def record_commit(name: str, file: Path | None) -> None:
    """Remember the commit of a model on the hub that is loaded, by the place of one of its files in the hub's cache."""
    parts = () if file is None else file.parts
    if "snapshots" in parts[:-2]:
        _loaded_commits[name] = parts[parts.index("snapshots") + 1]


def loaded_commits(names: Iterable[str]) -> dict[str, str]:
    """Return the commits of those of these models that this process has loaded from the hub."""
    return {name: _loaded_commits[name] for name in sorted(set(names)) if name in _loaded_commits}


def find_cached_file(name: str, file: str = "config.json") -> Path | None:
    """A file of a model on the hub, if it was downloaded before."""
    try:
        found = import_module("huggingface_hub").try_to_load_from_cache(name, file)
    except ValueError as error:
        raise CrevalError(f"{name} is no folder here, and no model's name on the hub.") from error
    return Path(found) if isinstance(found, str) else None


def check_hub_reachable(name: str, file: str = "config.json") -> bool:
    """Return whether the hub can be reached, without minutes of trying; refuse a model that is not here."""
    here = find_cached_file(name, file) is not None
    hub = import_module("huggingface_hub")
    if hub.constants.HF_HUB_OFFLINE:
        if here:
            return False
        raise CrevalError(f"{name} is no folder here, was not downloaded, and HF_HUB_OFFLINE is set.")
    if any(os.environ.get(name) for name in _PROXY_VARIABLES):
        return True
    address = urlsplit(hub.constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=_HUB_TIMEOUT).close()
    except OSError as error:
        if here:
            return False
        raise CrevalError(
            f"{name} is no folder here, was not downloaded, and {address.hostname} cannot be "
            "reached. Download it elsewhere, and give its folder."
        ) from error
    return True
