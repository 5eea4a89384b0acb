"""The interface of an editor: requests, outputs, options and the base class `Editor`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from creval.core.errors import CrevalError, require_amount
from creval.core.sample import Sample
from creval.providers.pricing import MAX_DOLLARS

_INPUTS = ("source", "mask", "references")


@dataclass(frozen=True)
class EditRequest:
    """A request for one edited image.

    `sample` is the id of the sample. `source` is None if the image is generated from the instruction alone.
    `mask` is white where the source may change. `draw` numbers repeated edits of the same sample. `seed` is passed
    to editors that take one.
    """

    sample: str
    instruction: str
    source: Path | None = None
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    seed: int = 0
    draw: int = 0

    def with_absolute_paths(self) -> EditRequest:
        """Return the request with absolute paths, for a process with another working directory."""
        source, mask = (path and path.absolute() for path in (self.source, self.mask))
        return replace(self, source=source, mask=mask, references=tuple(path.absolute() for path in self.references))


class EditOutput(NamedTuple):
    """An edited image as the editor returned it.

    `media_type` is the type that the editor reported, and `cost` is in US dollars, None if unknown. `metadata` is
    stored with the edit. `seconds` is the duration of the call without the time that it waited for other calls. None
    if calls do not wait for each other.
    """

    content: bytes
    media_type: str = ""
    cost: float | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    seconds: float | None = None


class PendingTask(Protocol):
    """The stored id of the task that creates an image at a provider.

    After a kill, the editor resumes polling this task instead of paying for a new one.
    """

    @property
    def task_id(self) -> str | None:
        """The id of the task that an earlier call started. None if there was none, empty if it was discarded."""

    async def save(self, name: str) -> None:
        """Store a task's id durably. An empty id discards the task."""


_MAX_SECONDS = 86400.0


@dataclass(frozen=True)
class EditorOptions:
    """Options of editors.

    `settings` are passed to the model unchanged (`--set KEY=VALUE`). `key_env` overrides the environment variable of
    the API key. `key_optional` allows a missing key, for runs without calls.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    benchmark_folder: Path | None = None
    timeout: float = 600.0
    concurrency: int = 4
    price: float | None = None
    key_env: str | None = None
    key_optional: bool = False

    def __post_init__(self) -> None:
        require_amount("price", self.price, MAX_DOLLARS)
        require_amount("timeout", self.timeout, _MAX_SECONDS, above_zero=True)


def require_no_settings(name: str, options: EditorOptions) -> None:
    """Raise `CrevalError` if settings are given to an editor that takes none."""
    for setting in options.settings:
        raise CrevalError(f"`settings` {setting}: {name} takes no settings.")


class Editor(ABC):
    """An editing model.

    `name` identifies the editor in an output folder, and `model` is the provider's name of the model. `price` is in US
    dollars per image, None if unknown. `seconds_per_edit` is an estimate. `notes` collects inputs that the model does
    not support. An editor with `needs_source` cannot generate an image from text alone.
    """

    name: str
    model: str
    price: float | None = None
    seconds_per_edit: float = 15.0
    notes: list[str]
    needs_source: bool = False

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        """The settings that the editor's images depend on. They are stored in the manifest."""
        return {"model": self.model}

    def keep_secrets(self) -> None:  # noqa: B027
        """Do not redact secrets in the name and settings, to resume a folder that stored them unredacted."""

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """The state of the code and model: digests of files, a revision, versions.

        It may change without an action of the user. If it has changed, the user must choose whether to keep existing
        images or create them again.
        """
        return {}

    def add_note(self, what: str) -> None:
        """Record an input or feature that the model does not support. Each sentence is recorded once."""
        sentence = f"{self.name} {what}"
        if sentence not in self.notes:
            self.notes.append(sentence)

    def accepts(self, extra: str) -> bool:  # noqa: ARG002
        """Return True if the model supports an input: `source`, `mask` or `references`."""
        return True

    def unsupported_inputs(self, what: EditRequest | Sample) -> list[str]:
        """Return the names of the given inputs (source, mask, references) that the model does not support."""
        return [name for name in _INPUTS if getattr(what, name) and not self.accepts(name)]

    def unsupported_reason(self, what: EditRequest | Sample) -> str:
        """Return why the model does not support all inputs of a sample, or an empty string if it does."""
        if self.needs_source and what.source is None:
            return "the editor needs a source"
        unsupported = " and no ".join(self.unsupported_inputs(what))
        return f"the editor takes no {unsupported}" if unsupported else ""

    def note_ignored_inputs(self, job: EditRequest) -> None:
        """Record a note about each input image of a request that the model ignores."""
        for name in self.unsupported_inputs(job):
            self.add_note(f"takes no {name}: edits use the instruction alone.")

    async def open(self) -> None:  # noqa: B027
        """Open connections and start processes, in the event loop that runs the edits."""

    async def close(self) -> None:  # noqa: B027
        """Close connections and processes."""

    @abstractmethod
    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        """Return the edited image.

        Raises `CallError` (of kind `content filter` for a refusal) or `ProviderUnusable`.
        """
