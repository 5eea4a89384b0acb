"""Loading transformers models from the Hugging Face hub or a folder."""

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
_CONFIG_FILES = ("config.json", "adapter_config.json")  # every model's folder contains one of them
# Weights that published models lack and that are not used.
_UNUSED_WEIGHTS = re.compile(r"\bposition_ids$|\bpooler\.|\bfusion_stage\.layers\.0\.residual_layer1\.")
_HUB_TIMEOUT = 5.0  # seconds to connect to the hub


class DependencyMissing(CrevalError):  # noqa: N818
    """A missing library or default model. The message states what to install or download."""


def load_model(
    name: str, kind: str, *, device: str = "", dtype: str = "auto", processor: str = "AutoProcessor"
) -> tuple[Any, Any]:
    """Load a processor and a model of the transformers class `kind`. Raises `CrevalError` with the reason."""
    try:
        torch = import_module("torch")
        transformers = import_module("transformers")
    except ImportError as error:
        raise DependencyMissing(
            f"{name} needs torch and transformers: pip install 'creval[local]' ({error})."
        ) from error
    folder = Path(name)
    if (folder.is_absolute() or name.startswith(".")) and not folder.is_dir():
        raise CrevalError(f"no folder {name} exists to load a model from.")
    options = {}
    if not folder.is_dir():
        options = {"local_files_only": not check_hub_reachable(name)}
    elif not any((folder / file).is_file() for file in _CONFIG_FILES):
        raise CrevalError(f"{name} cannot be loaded: the folder has no {_CONFIG_FILES[0]}.")
    _quieten(transformers)
    try:
        preprocessor = getattr(transformers, processor).from_pretrained(name, **options)
        model, loaded = getattr(transformers, kind).from_pretrained(
            name, dtype=dtype, output_loading_info=True, **options
        )
        model = model.to(device or best_device(torch)).eval()
    except Exception as error:  # damaged files raise errors of many libraries
        raise CrevalError(f"{name} cannot be loaded: {_first_sentence(error)}.") from error
    if missing := sorted(key for key in loaded["missing_keys"] if not _UNUSED_WEIGHTS.search(key)):
        raise CrevalError(
            f"{name} cannot be loaded: it lacks {len(missing)} weights, such as {missing[0]}. "
            "They would be initialised at random, so its output would differ each time."
        )
    tokenizer = getattr(preprocessor, "tokenizer", None)
    vocabulary = getattr(getattr(model.config, "text_config", model.config), "vocab_size", 0)
    if tokenizer is not None and len(tokenizer) < vocabulary / 2:
        raise CrevalError(
            f"{name} cannot be loaded: its tokenizer knows only {len(tokenizer)} of {vocabulary} tokens. Its "
            "files are missing or damaged."
        )
    if options:
        record_commit(name, find_cached_file(name))
    return preprocessor, model


def _first_sentence(error: Exception) -> str:
    """Return the first sentence of a library's error message. The other sentences only help programmers."""
    message = str(error).strip()
    if other := re.match(r"Unrecognized configuration class [^>\n]{0,300}?\b(\w{1,100})'?>", message):
        return f"it is a model of another type ({other[1]})"
    return re.split(r"\n|\.\s", message)[0].rstrip(". \r\t") or type(error).__name__


def _quieten(transformers: Any) -> None:
    """Silence the library's logs and progress bars, which would break up creval's progress line.

    The hub's download bars stay visible.
    """
    hub = import_module("huggingface_hub").utils
    shown = not hub.are_progress_bars_disabled()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if shown:
        hub.enable_progress_bars()


def best_device(torch: Any) -> str:
    """Return the fastest available device type: `cuda`, `mps` or `cpu`."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


_loaded_commits: dict[str, str] = {}


def record_commit(name: str, file: Path | None) -> None:
    """Record the commit of a model loaded from the hub, given the path of one of its files in the hub's cache."""
    parts = () if file is None else file.parts
    if "snapshots" in parts[:-2]:
        _loaded_commits[name] = parts[parts.index("snapshots") + 1]


def loaded_commits(names: Iterable[str]) -> dict[str, str]:
    """Return the commits of the given models that this process has loaded from the hub."""
    return {name: _loaded_commits[name] for name in sorted(set(names)) if name in _loaded_commits}


def find_cached_file(name: str, file: str = "config.json") -> Path | None:
    """Return a file of a model on the hub if it is in the download cache, or None."""
    try:
        found = import_module("huggingface_hub").try_to_load_from_cache(name, file)
    except ValueError as error:
        raise CrevalError(f"{name!r} is neither a local folder nor a valid Hugging Face model id.") from error
    return Path(found) if isinstance(found, str) else None


def check_hub_reachable(name: str, file: str = "config.json") -> bool:
    """Return True if the hub can be reached, and False if it cannot but the model is in the download cache.

    Raises `CrevalError` if neither is the case. The check has a short timeout.
    """
    cached = find_cached_file(name, file) is not None
    hub = import_module("huggingface_hub")
    if hub.constants.HF_HUB_OFFLINE:
        if cached:
            return False
        raise CrevalError(f"{name!r} is neither a local folder nor in the download cache, and HF_HUB_OFFLINE is set.")
    if any(os.environ.get(name) for name in _PROXY_VARIABLES):
        return True
    address = urlsplit(hub.constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=_HUB_TIMEOUT).close()
    except OSError as error:
        if cached:
            return False
        raise CrevalError(
            f"{name!r} is neither a local folder nor in the download cache, and {address.hostname} cannot be "
            "reached. Download the model elsewhere, and give its folder."
        ) from error
    return True
