"""What an editor is to the engine: it takes a picture and an instruction, and brings a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from creval.core.errors import CrevalError
from creval.core.sample import Sample

_INPUTS = ("source", "mask", "references")


@dataclass(frozen=True)
class EditRequest:
    """One picture to be made: of a source (none where there is nothing to edit), by an instruction.

    `sample` is the id of the sample that it is for. `mask` is white where the source may change.
    `draw` tells several tries of the same from each other; an editor that takes a seed gets `seed`.
    """

    sample: str
    instruction: str
    source: Path | None = None
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    seed: int = 0
    draw: int = 0

    def with_absolute_paths(self) -> EditRequest:
        """Return the request for another process, which may stand in another folder."""
        source, mask = (path and path.absolute() for path in (self.source, self.mask))
        return replace(self, source=source, mask=mask, references=tuple(path.absolute() for path in self.references))


class EditOutput(NamedTuple):
    """An image byte for byte, its type as told, what it cost in US dollars if that is known, and what else was told.

    `seconds` is what making it took, for an editor in which calls wait for each other.
    """

    content: bytes
    media_type: str = ""
    cost: float | None = None
    metadata: Mapping[str, Any] = MappingProxyType({})
    seconds: float | None = None


class PendingTask(Protocol):
    """The stored name of a task that is polled, so that an editor goes on waiting after a kill and pays only once."""

    @property
    def task_id(self) -> str | None:
        """The name of a task that was begun before, if there is one; empty where it is no more."""

    async def save(self, name: str) -> None:
        """Keep a task's name; when this returns, it outlives a kill. An empty one forgets it."""


@dataclass(frozen=True)
class EditorOptions:
    """Options of editors. `settings` go to the model as they are (`--set KEY=VALUE`); `key_env` names another
    environment variable of the key than the usual; `key_optional` allows none, if no call is made."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    benchmark_folder: Path | None = None
    timeout: float = 600.0
    concurrency: int = 4
    price: float | None = None
    key_env: str | None = None
    key_optional: bool = False


def require_no_settings(name: str, options: EditorOptions) -> None:
    """`CrevalError` where settings are given to an editor that has none."""
    for setting in options.settings:
        raise CrevalError(f"`settings` {setting}: {name} takes no settings.")


class Editor(ABC):
    """A model that edits. `name` is the editor's in a run, `model` the model's own.

    `price` is US dollars an image, if known; `seconds_per_edit` an estimate; `notes` collects what the model
    turned out not to take; an editor that `needs_source` makes nothing of words alone.
    """

    name: str
    model: str
    price: float | None = None
    seconds_per_edit: float = 15.0
    notes: list[str]
    needs_source: bool = False

    @property
    def manifest_entry(self) -> Mapping[str, Any]:
        """What a manifest keeps about the editor, and its pictures depend on."""
        return {"model": self.model}

    def keep_secrets(self) -> None:  # noqa: B027
        """Leave secrets in the name and the settings: a folder that was begun so goes on, and buys nothing twice."""

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """The state of what it runs, by name: digests of files, a revision, versions. It may change without the
        user's doing, so another state is asked about rather than refused."""
        return {}

    def add_note(self, what: str) -> None:
        """Something that the model turned out not to take."""
        sentence = f"{self.name} {what}"
        if sentence not in self.notes:
            self.notes.append(sentence)

    def accepts(self, extra: str) -> bool:  # noqa: ARG002
        """Whether the model can be given a `source`, a `mask`, or `references`."""
        return True

    def unsupported_inputs(self, what: EditRequest | Sample) -> list[str]:
        """Which of its pictures the model cannot be given."""
        return [name for name in _INPUTS if getattr(what, name) and not self.accepts(name)]

    def unsupported_reason(self, what: EditRequest | Sample) -> str:
        """Why the model cannot be given all that a sample brings; empty where it can."""
        if self.needs_source and what.source is None:
            return "the editor needs a source"
        lacking = " and no ".join(self.unsupported_inputs(what))
        return f"the editor takes no {lacking}" if lacking else ""

    def note_ignored_inputs(self, job: EditRequest) -> None:
        """Say which of a job's pictures are left out."""
        for name in self.unsupported_inputs(job):
            self.add_note(f"takes no {name}: edited by the instruction alone.")

    async def open(self) -> None:  # noqa: B027
        """Get ready, in the event loop in which the editing happens."""

    async def close(self) -> None:  # noqa: B027
        """Let go of connections and processes."""

    @abstractmethod
    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        """Return an image; raise `CallError` (of kind `content filter` for a refusal) or `ProviderUnusable`."""
