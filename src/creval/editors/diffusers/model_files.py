"""Finding, downloading and loading diffusers models from a folder or the hub."""

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
    """The libraries that a pipeline needs."""

    torch: Any
    diffusers: Any
    transformers: Any

    @property
    def versions(self) -> dict[str, str]:
        return {"diffusers": self.diffusers.__version__, "transformers": self.transformers.__version__}


def import_libraries(name: str) -> Libraries:
    """Import the libraries. Silence their progress bars and logs, which would break up creval's progress line."""
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
    """A located model.

    `folder` is the folder of its files. For a model on the hub, `commit` is set, and the folder contains only
    the index until the model is downloaded.
    """

    name: str
    folder: Path
    commit: str = ""

    def read_index(self) -> dict[str, Any]:
        """Return the content of the model's index: its pipeline class and components."""
        path = self.folder / _INDEX_FILE
        try:
            index = parse_json(read_bytes(path, MAX_JSON_BYTES))
        except FileNotFoundError as error:
            raise CrevalError(f"{self.name} has no {_INDEX_FILE}, so it is not a diffusers pipeline.") from error
        except (OSError, ValueError, RecursionError) as error:
            raise CrevalError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        if not isinstance(index, dict):
            raise CrevalError(f"{path} is malformed: it must contain a JSON object.")
        return index

    def fingerprint(self) -> dict[str, str]:
        """Return the fingerprint of the model: the hub's commit, or a digest of its files' names, sizes and content."""
        if self.commit:
            return {"revision": self.commit}
        parts = self.read_index().keys() | {_INDEX_FILE}
        files = (path for path in list_files(self.folder) if path.partition("/")[0] in parts)
        return {"files": digest_files((path, self.folder / path) for path in files)}


def locate_model(name: str, revision: str = "") -> LocatedModel:
    """Locate a model: a folder, or `ORG/MODEL` on the hub, from which only the index is downloaded."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if revision:
            raise CrevalError(f"`settings` revision={revision} is only for models on the hub, and {name} is a folder.")
        return LocatedModel(name, folder)
    if not _HUB_ID.fullmatch(name) or name.startswith("."):
        raise CrevalError(f"no folder {name} exists. Give a folder, or ORG/MODEL on the hub.")
    hub = import_module("huggingface_hub")
    try:
        index = hub.hf_hub_download(name, _INDEX_FILE, revision=revision or None)
    except Exception as error:  # the hub, its cache and the network raise many types
        raise CrevalError(f"{name}: {_hub_error_reason(name, error)}") from error
    folder = Path(index).parent
    return LocatedModel(name, folder, folder.name)


def _hub_error_reason(name: str, error: Exception) -> str:
    """Return why a model cannot be downloaded. Subclasses of errors are listed before their base classes."""
    reasons = {
        "GatedRepoError": f"accept its licence at https://huggingface.co/{name}, then log in with hf auth login.",
        "RepositoryNotFoundError": "it is neither a local folder nor a model on the hub that your login can access.",
        "RevisionNotFoundError": "the hub does not have this revision of it.",
        "LocalEntryNotFoundError": "it is neither a local folder nor in the download cache, "
        "and the hub cannot be reached.",
        "EntryNotFoundError": f"it has no {_INDEX_FILE}, so it is not a diffusers pipeline.",
    }
    kinds = {kind.__name__ for kind in type(error).__mro__}
    other = f"it cannot be downloaded from the hub ({_first_line(error)})."
    return next((reason for kind, reason in reasons.items() if kind in kinds), other)


def find_pipeline_class(found: LocatedModel, diffusers: Any, wanted: str = "") -> type[Any]:
    """Return the pipeline class: the `wanted` one, or else the one in the model's index."""
    name = wanted or found.read_index().get("_class_name")
    kind = getattr(diffusers, name, None) if isinstance(name, str) else None
    if isinstance(kind, type) and issubclass(kind, diffusers.DiffusionPipeline):
        return kind
    if wanted:
        known = [known for known in dir(diffusers) if known.endswith("Pipeline")]
        raise unknown_name_error("pipeline in diffusers", wanted, known)
    raise CrevalError(
        f"{found.name} is a {name if isinstance(name, str) else 'pipeline with custom code'}, which "
        f"diffusers {diffusers.__version__} does not include or cannot run here. If the model comes with its own "
        "code, call that code with python:MODULE:FUNCTION."
    )


def download_model(found: LocatedModel, kind: type[Any], variant: str) -> LocatedModel:
    """Download all files of the model and return the model. The hub's library shows the progress."""
    if not found.commit:
        return found
    try:
        folder = kind.download(found.name, revision=found.commit, variant=variant or None)
    except Exception as error:
        raise CrevalError(f"{found.name}: {_hub_error_reason(found.name, error)}") from error
    return found._replace(folder=Path(folder))


class DevicePlacement(NamedTuple):
    """Device and dtype of a pipeline, and what leaves the device while idle.

    `offload` is `none` (nothing leaves it), `model` (components) or `sequential` (layers).
    """

    device: str
    dtype: str
    offload: str = "none"


def choose_placement(torch: Any, device: str, dtype: str, offload: str) -> DevicePlacement:
    """Return the placement of a pipeline. Empty values get defaults that suit the machine."""
    device = device or best_device(torch)
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise CrevalError(f"`settings` device={device}: {_first_line(error)}") from error
    if kind == "cpu" and offload != "none":
        raise CrevalError(
            f"`settings` offload={offload} saves GPU memory, but the device is {device}. Remove `offload`."
        )
    if not dtype:
        dtype = "float32" if kind == "cpu" else "bfloat16"
        if kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
            dtype = "float16"
    return DevicePlacement(device, dtype, offload)


def load_pipeline(found: LocatedModel, kind: type[Any], placed: DevicePlacement, torch: Any, variant: str) -> Any:
    """Load the pipeline onto its device."""
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
        reason = f"out of memory. {hint}" if hint else _first_line(error)
        raise CrevalError(f"{found.name} cannot be loaded: {reason}") from error
    return pipeline


def memory_hint(error: Exception) -> str:
    """Return the settings that reduce memory, or an empty string if the error is not about memory."""
    message = f"{type(error).__name__} {error}".casefold().replace("outofmemory", "out of memory")
    phrases = ("out of memory", "can't allocate memory", "not enough memory")
    if not isinstance(error, MemoryError) and not any(phrase in message for phrase in phrases):
        return ""
    return (
        "`settings` dtype=bfloat16 halves the size of the model; `settings` offload=model (or sequential, slower) "
        "keeps only active parts on the GPU; `settings` batch=1 and smaller `settings` pixels=N also save memory"
    )


def truncated_token_count(pipeline: Any, text: str) -> int | None:
    """Return the number of tokens to which the pipeline truncates a text, or None if it reads the whole text."""
    tokenizers = [getattr(pipeline, f"tokenizer{number}", None) for number in ("", "_2", "_3")]
    limits = []
    try:
        for tokenizer in tokenizers:
            if tokenizer is not None:
                if len(tokenizer(text)["input_ids"]) <= tokenizer.model_max_length:
                    return None
                limits.append(int(tokenizer.model_max_length))
    except Exception:  # an unknown kind of tokenizer must not fail the edit
        return None
    return max(limits, default=None)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
