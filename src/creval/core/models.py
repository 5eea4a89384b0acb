"""Models of the transformers library, from the hub or from a folder."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from creval.core.errors import CrevalError


def load_model(name: str, kind: str, *, device: str = "", dtype: str = "auto") -> tuple[Any, Any]:
    """A processor and a model, which the transformers class `kind` loads (`AutoModel`).

    Where it cannot be had, the error says why in a sentence.
    """
    try:
        torch = import_module("torch")
        transformers = import_module("transformers")
    except ImportError as error:
        raise CrevalError(
            f"{name} needs torch and transformers: pip install 'creval[local]' ({error})."
        ) from error
    folder = Path(name)
    if (folder.is_absolute() or name.startswith(".")) and not folder.is_dir():
        raise CrevalError(f"there is no folder {name} to load a model from.")
    try:
        processor = transformers.AutoProcessor.from_pretrained(name)
        model = getattr(transformers, kind).from_pretrained(name, dtype=dtype)
        return processor, model.to(device or best_device(torch)).eval()
    except Exception as error:  # damaged files raise errors of many libraries
        reason = str(error).strip().partition("\n")[0]
        raise CrevalError(f"{name} cannot be loaded: {reason}") from error


def best_device(torch: Any) -> str:
    """The fastest kind of device that is here."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
