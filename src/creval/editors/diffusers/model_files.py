"""Models of the diffusers library, in a folder or on the hub: found by their class, and loaded."""

from __future__ import annotations

import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from creval.core.errors import CrevalError, unknown_name_error
from creval.core.file_digest import digest_files
from creval.core.files import MAX_JSON_BYTES, list_files, parse_json, read_bytes
from creval.providers.huggingface import best_device

DTYPES = ("float32", "float16", "bfloat16")
OFFLOADS = ("none", "model", "sequential")
_INDEX_FILE = "model_index.json"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


class Libraries(NamedTuple):
    """What is needed to run a pipeline."""

    torch: Any
    diffusers: Any
    transformers: Any

    @property
    def versions(self) -> dict[str, str]:
        return {"diffusers": self.diffusers.__version__, "transformers": self.transformers.__version__}


def import_libraries(name: str) -> Libraries:
    """Import the libraries and silence their progress bars and logs, which would break creval's own line."""
    try:
        found = Libraries(*(import_module(library) for library in Libraries._fields))
        import_module("accelerate")
    except ImportError as error:
        raise CrevalError(f"{name} needs the diffusers library: pip install 'creval[diffusers]' ({error}).") from error
    warnings.filterwarnings("ignore", module="(accelerate|diffusers|torch|transformers)(\\.|$)")
    for library in (found.diffusers, found.transformers):
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()
    return found


class LocatedModel(NamedTuple):
    """A model's place: the folder of its files, or of the first of them as long as it is on the hub (`commit`)."""

    name: str
    folder: Path
    commit: str = ""

    def read_index(self) -> dict[str, Any]:
        """What the model says about itself: its class, and its parts."""
        path = self.folder / _INDEX_FILE
        try:
            index = parse_json(read_bytes(path, MAX_JSON_BYTES))
        except FileNotFoundError as error:
            raise CrevalError(
                f"{self.name} holds no {_INDEX_FILE}: it is no pipeline that diffusers has saved."
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise CrevalError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        if not isinstance(index, dict):
            raise CrevalError(f"{path} holds no object, but every pipeline's does.")
        return index

    def fingerprint(self) -> dict[str, str]:
        """Identify this state of the model: by the hub's commit, or by its files' names, sizes and content."""
        if self.commit:
            return {"revision": self.commit}
        parts = self.read_index().keys() | {_INDEX_FILE}
        files = (path for path in list_files(self.folder) if path.partition("/")[0] in parts)
        return {"files": digest_files((path, self.folder / path) for path in files)}


def locate_model(name: str, revision: str = "") -> LocatedModel:
    """Where a model is: a folder, or `ORG/MODEL` on the hub, of which only the index is fetched."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            raise CrevalError(f"`settings` revision={revision}: {name} is a folder, not on the hub.")
        return LocatedModel(name, folder)
    if not _HUB_ID.fullmatch(name) or name.startswith("."):
        raise CrevalError(f"there is no folder {name}; give one, or ORG/MODEL on the hub.")
    hub = import_module("huggingface_hub")
    try:
        index = hub.hf_hub_download(name, _INDEX_FILE, revision=revision or None)
    except Exception as error:  # the hub, its cache and the network have errors of many kinds
        raise CrevalError(f"{name}: {_hub_error_reason(name, error)}") from error
    folder = Path(index).parent
    return LocatedModel(name, folder, folder.name)


def _hub_error_reason(name: str, error: Exception) -> str:
    """Why a model cannot be had; of an error's kinds the first in this order counts."""
    reasons = {
        "GatedRepoError": "its licence has to be accepted first, at "
        f"https://huggingface.co/{name}; then log in with hf auth login.",
        "RepositoryNotFoundError": "there is no such folder here, nor such a model on the hub that this login may see.",
        "RevisionNotFoundError": "the hub has no such revision of it.",
        "LocalEntryNotFoundError": "there is no such folder here, it was not fetched before, "
        "and the hub is out of reach.",
        "EntryNotFoundError": f"it holds no {_INDEX_FILE}: it is no pipeline that diffusers has saved.",
    }
    kinds = {kind.__name__ for kind in type(error).__mro__}
    other = f"it cannot be had from the hub ({_first_line(error)})."
    return next((reason for kind, reason in reasons.items() if kind in kinds), other)


def find_pipeline_class(found: LocatedModel, diffusers: Any, wanted: str = "") -> type[Any]:
    """The class of a model's pipeline, or the one by which it is wanted."""
    name = wanted or found.read_index().get("_class_name")
    kind = getattr(diffusers, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, diffusers.DiffusionPipeline):
        return kind
    if wanted:
        known = [known for known in dir(diffusers) if known.endswith("Pipeline")]
        raise unknown_name_error("pipeline in diffusers", wanted, known)
    raise CrevalError(
        f"{found.name} is a {name if isinstance(name, str) else 'pipeline of its own code'}, which "
        f"diffusers {diffusers.__version__} does not have or cannot run here. If it brings its own "
        "code, call that with python:MODULE:FUNCTION."
    )


def download_model(found: LocatedModel, kind: type[Any], variant: str) -> LocatedModel:
    """The model with all its files here; the hub shows how far it is."""
    if not found.commit:
        return found
    try:
        folder = kind.download(found.name, revision=found.commit, variant=variant or None)
    except Exception as error:
        raise CrevalError(f"{found.name}: {_hub_error_reason(found.name, error)}") from error
    return found._replace(folder=Path(folder))


class DevicePlacement(NamedTuple):
    """Device and number type of a pipeline, and what is offloaded: idle parts (`model`) or layers (`sequential`)."""

    device: str
    dtype: str
    offload: str = "none"


def choose_placement(torch: Any, device: str, dtype: str, offload: str) -> DevicePlacement:
    """Where a pipeline runs: as it is wanted, or what suits the machine."""
    device = device or best_device(torch)
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise CrevalError(f"`settings` device={device}: {_first_line(error)}") from error
    if kind == "cpu" and offload != "none":
        raise CrevalError(f"`settings` offload={offload} spares a GPU's memory, and device is {device}.")
    if not dtype:
        dtype = "float32" if kind == "cpu" else "bfloat16"
        if kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
            dtype = "float16"
    return DevicePlacement(device, dtype, offload)


def load_pipeline(found: LocatedModel, kind: type[Any], placed: DevicePlacement, torch: Any, variant: str) -> Any:
    """The pipeline, ready to be called."""
    try:
        pipeline = kind.from_pretrained(found.folder, dtype=getattr(torch, placed.dtype), variant=variant or None)
        pipeline.set_progress_bar_config(disable=True)
        if placed.offload == "model":
            pipeline.enable_model_cpu_offload(device=placed.device)
        elif placed.offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=placed.device)
        else:
            pipeline = pipeline.to(placed.device)
    except Exception as error:  # damaged files raise errors of many libraries
        hint = memory_hint(error)
        reason = f"memory does not suffice. {hint}" if hint else _first_line(error)
        raise CrevalError(f"{found.name} cannot be loaded: {reason}") from error
    return pipeline


def memory_hint(error: Exception) -> str:
    """What to set where memory does not suffice; empty where that is not what is wrong."""
    said = f"{type(error).__name__} {error}".casefold().replace("outofmemory", "out of memory")
    phrases = ("out of memory", "can't allocate memory", "not enough memory")
    if not isinstance(error, MemoryError) and not any(words in said for words in phrases):
        return ""
    return (
        "`settings` dtype=bfloat16 halves the model; `settings` offload=model (or sequential, slower) leaves "
        "on the GPU only what is at work; `settings` batch=1 and fewer `settings` pixels=N take less, too"
    )


def truncated_token_count(pipeline: Any, text: str) -> int | None:
    """How many tokens of a longer text the pipeline reads; none where it reads all of it."""
    readers = [getattr(pipeline, f"tokenizer{number}", None) for number in ("", "_2", "_3")]
    limits = []
    try:
        for reader in readers:
            if reader is not None:
                if len(reader(text)["input_ids"]) <= reader.model_max_length:
                    return None
                limits.append(int(reader.model_max_length))
    except Exception:  # what reads in another way says nothing, and spoils no picture
        return None
    return max(limits, default=None)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
