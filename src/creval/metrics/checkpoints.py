"""Finding and loading weights in PyTorch and safetensors files."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from warnings import catch_warnings, simplefilter

from creval.core.errors import CrevalError
from creval.providers.huggingface import DependencyMissing, check_hub_reachable, record_commit


def find_weights(name: str, files: Sequence[str]) -> Path:
    """Return the weights file that a name refers to.

    The name is a file, a folder that contains one of `files`, or a repository on the hub, from which the first of
    `files` is downloaded.
    """
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir():
        for file in files:
            if (path / file).is_file():
                return path / file
        raise CrevalError(f"{name} contains none of {', '.join(files)}.")
    if path.is_absolute() or name.startswith(".") or name.count("/") != 1:
        raise CrevalError(f"no file or folder {name} exists to load weights from.")
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise DependencyMissing(f"{name} needs huggingface_hub: pip install 'creval[local]'.") from error
    reachable = check_hub_reachable(name, files[0])
    try:
        found = Path(hub.hf_hub_download(name, files[0], local_files_only=not reachable))
    except Exception as error:  # huggingface_hub raises many types
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{name} cannot be downloaded: {reason}") from error
    record_commit(name, found)
    return found


def find_safe_weights(name: str, files: Sequence[str]) -> Path:
    """Return a weights file that is safe to unpickle, for a library that does so without checks.

    Raises `CrevalError` for a file that contains more than weights.
    """
    path = find_weights(name, files)
    load_weights(path)
    return path


def load_weights(path: Path) -> Mapping[str, Any]:
    """Return the tensors in a file by name.

    No code in the file is executed. Raises `CrevalError` for a file that contains more than weights.
    """
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise DependencyMissing(f"{path.name} needs torch: pip install 'creval[local]'.") from error
    try:
        if path.suffix == ".safetensors":
            found: Any = import_module("safetensors.torch").load_file(path)
        else:
            # Options of a training run are often saved with its weights. They are harmless.
            with torch.serialization.safe_globals([argparse.Namespace]), catch_warnings():
                simplefilter("ignore")
                found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files raise errors of many types
        raise CrevalError(f"{path} cannot be loaded: {_load_error_reason(path, error)}.") from error
    for inside in ("model_state_dict", "state_dict"):
        if isinstance(found, Mapping) and isinstance(found.get(inside), Mapping):
            found = found[inside]
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and hasattr(one, "shape") for name, one in found.items()
    ):
        raise CrevalError(f"{path} does not contain named weights.")
    return {name.removeprefix("module."): one for name, one in found.items()}


def _load_error_reason(path: Path, error: Exception) -> str:
    """Return why a weights file cannot be loaded.

    PyTorch's own message is not shown, because it advises executing code in the file.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    with path.open("rb") as file:
        start = file.read(4)
    if isinstance(error, UnpicklingError) and start.startswith((b"PK", b"\x80")):
        found = re.search(r"GLOBAL ([\w.]+)", str(error))
        example = f" (such as {found[1]})" if found else ""
        return f"it contains more than weights{example}, and creval does not execute code from weights files"
    return "it is not a weights file, or it is damaged"
