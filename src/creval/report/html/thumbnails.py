"""Thumbnails of a page: of sources and edits, and of the way to an edit."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from creval.core import formatting
from creval.core.edit import Edit, EditStatus
from creval.core.images import ImageError, open_image
from creval.core.schema import Digits
from creval.report.edit_history import Try, single, stages

SIDE, SMALL = 320, 128
"""Pixels of a thumbnail's longer side: of one to look at, and of one on the way to it."""
_TRIES = 8  # pictures of one step
_LETTERS = 160  # of a reason


@dataclass(frozen=True)
class Picture:
    """A thumbnail with its caption, or the words for why there is none; `picked` among several."""

    caption: str
    source: str = ""
    instead: str = ""
    picked: bool = False


@dataclass(frozen=True)
class Step:
    """One step on the way to an edit: its words, how it was planned, and what came of it."""

    words: str
    plan: str
    pictures: Sequence[Picture]
    more: int = 0


@dataclass(frozen=True)
class Way:
    """How a model's edit came about; `single` where each step is one picture and no more."""

    system: str
    steps: Sequence[Step]
    single: bool


def picture(path: Path | None, caption: str, link: Path | None, side: int = SIDE) -> Picture:
    """A thumbnail inside the page or, with `link`, the folder from which it is found, a link."""
    if path is None:
        return Picture(caption, instead="no picture")
    if not path.is_file():
        return Picture(caption, instead=f"absent: {path.name}")
    try:
        if link is not None:
            away = os.path.relpath(path.resolve(), link.resolve())
            return Picture(caption, quote(Path(away).as_posix()))
        image = open_image(path)
    except ImageError:
        return Picture(caption, instead=f"cannot be opened: {path.name}")
    except ValueError:  # on another drive
        return Picture(caption, path.resolve().as_uri())
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=80, optimize=True)
    return Picture(
        caption, f"data:image/jpeg;base64,{base64.b64encode(sent.getvalue()).decode('ascii')}"
    )


def edited(edit: Edit, caption: str, link: Path | None, side: int = SIDE) -> Picture:
    """An edit's picture, or what became of it and why."""
    if edit.image is None and edit.status is not EditStatus.DONE:
        reason = " ".join(edit.reason.split())
        reason = reason if len(reason) <= _LETTERS else f"{reason[: _LETTERS - 1]}…"
        return Picture(caption, instead=f"{edit.status}: {reason}" if reason else str(edit.status))
    return picture(edit.image, caption, link, side)


def way(edit: Edit, rank: str, digits: Digits, link: Path | None) -> Way | None:
    """The way to an edit; none where it was made at once."""
    found = stages(edit)
    steps = [
        Step(
            stage.words,
            stage.plan,
            [_tried(one, rank, digits, link) for one in stage.tries[:_TRIES]],
            max(0, len(stage.tries) - _TRIES),
        )
        for stage in found
    ]
    return Way(edit.key.system, steps, single(found)) if steps else None


def _tried(one: Try, rank: str, digits: Digits, link: Path | None) -> Picture:
    words = [] if one.score is None else [f"{rank} {formatting.value(one.score, digits)}"]
    words += ["picked"] if one.picked else []
    made = edited(one.edit, ", ".join(words), link, SMALL)
    return Picture(made.caption, made.source, made.instead, one.picked)
