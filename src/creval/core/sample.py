"""Samples: images with an editing instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from creval.core.probe import Question

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels of the upright image."""


CAPTION_KINDS = frozenset({"source", "target"})
"""Keys of a sample's captions."""


@dataclass(frozen=True)
class InstructionStep:
    """One step of an instruction.

    It depends on the steps with the indices `needs`. It replaces the object `old`, which is in `boxes`, by `new`.
    """

    text: str
    kind: str = ""
    needs: tuple[int, ...] = ()
    boxes: tuple[Box, ...] = ()
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Sample:
    """One editing task: an instruction, usually with a source image.

    - `tags`: its groups in the benchmark (`{"category": "Stylization", ...}`).
    - `questions`: the dataset's own questions, in their original order.
    - `derived_from`: the image from which the sample was derived, if that is not its source's file.
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
        """Cluster for statistics.

        Samples derived from the same image share a cluster, because they are not independent.
        """
        return self.derived_from or str(self.source or self.id)

    @property
    def has_captions(self) -> bool:
        """True if the sample has both captions."""
        return all(self.captions.get(of, "").strip() for of in CAPTION_KINDS)

    @property
    def input_images(self) -> tuple[Path, ...]:
        """The source, mask and references that the sample has."""
        found = (self.source, self.mask, *self.references)
        return tuple(path for path in found if path is not None)
