"""What is edited, and the edits of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from creval.core.probe import Question

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in pixels of the upright image."""


CAPTION_KINDS = frozenset({"source", "target"})
"""What a sample's captions can be of."""


@dataclass(frozen=True)
class InstructionStep:
    """One instruction of several: it builds on the steps at `needs`, and makes `new` of the object `old` in `boxes`."""

    text: str
    kind: str = ""
    needs: tuple[int, ...] = ()
    boxes: tuple[Box, ...] = ()
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Sample:
    """One thing to edit: an instruction, mostly with a source image.

    `tags` place it in the groups of its benchmark (`{"category": "Stylization", ...}`); `questions`
    are those that the dataset itself brings, in the order in which it brings them. `derived_from`
    names what it was made of, where its source's file does not tell.
    """

    id: str
    instruction: str
    source: Path | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    steps: tuple[InstructionStep, ...] = ()
    mask: Path | None = None
    references: tuple[Path, ...] = ()
    captions: Mapping[str, str] = field(default_factory=dict)
    derived_from: str = ""

    @property
    def cluster(self) -> str:
        """What it was made of: samples of one image do not tell things independently."""
        return self.derived_from or str(self.source or self.id)

    @property
    def has_captions(self) -> bool:
        """Whether both captions are there."""
        return all(self.captions.get(of, "").strip() for of in CAPTION_KINDS)

    @property
    def input_images(self) -> tuple[Path, ...]:
        """All that it brings: source, mask and references."""
        found = (self.source, self.mask, *self.references)
        return tuple(path for path in found if path is not None)
