"""Thumbnails of a report: sources, edits, and the steps of an edit's history."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from creval.core import formatting
from creval.core.edit_record import Edit, EditStatus
from creval.core.files import is_file
from creval.core.images import ImageError, open_thumbnail
from creval.core.schema import Digits
from creval.reporting.edit_history import Candidate, edit_steps, is_linear
from creval.reporting.missing_edits import shorten_reason

THUMBNAIL_SIDE, CANDIDATE_SIDE = 640, 320
"""Pixels of the longer side of a thumbnail: of an edit, and of an intermediate image."""
_MAX_CANDIDATES = 8  # images shown for one step
_MAX_REASON_CHARS = 160  # characters of a reason


@dataclass(frozen=True)
class Thumbnail:
    """A thumbnail with its caption, or a placeholder text that says why there is no image."""

    caption: str
    source: str = ""
    placeholder: str = ""
    picked: bool = False


@dataclass(frozen=True)
class HistoryStep:
    """One step of an edit's history: its instruction, its plan, and its images."""

    instruction: str
    plan: str
    images: Sequence[Thumbnail]
    omitted: int = 0


@dataclass(frozen=True)
class EditHistory:
    """History of a model's edit. `is_linear` means that every step has exactly one image and no plan."""

    model: str
    steps: Sequence[HistoryStep]
    is_linear: bool


def make_thumbnail(path: Path | None, caption: str, link: Path | None, side: int = THUMBNAIL_SIDE) -> Thumbnail:
    """Return an embedded thumbnail or, if `link` is given, a link relative to that folder."""
    if path is None:
        return Thumbnail(caption, placeholder="no image")
    if not is_file(path):
        return Thumbnail(caption, placeholder=f"missing: {path.name}")
    try:
        if link is not None:
            away = os.path.relpath(path.resolve(), link.resolve())
            return Thumbnail(caption, quote(Path(away).as_posix()))
        image = open_thumbnail(path, side)
    except ImageError:
        return Thumbnail(caption, placeholder=f"cannot be opened: {path.name}")
    except ValueError:  # on another drive
        return Thumbnail(caption, path.resolve().as_uri())
    sent = io.BytesIO()
    image.save(sent, "JPEG", quality=75, optimize=True)
    return Thumbnail(caption, f"data:image/jpeg;base64,{base64.b64encode(sent.getvalue()).decode('ascii')}")


def edit_thumbnail(edit: Edit, caption: str, link: Path | None, side: int = THUMBNAIL_SIDE) -> Thumbnail:
    """Return the thumbnail of an edit, or its status and reason if it has no image."""
    if edit.image is None and edit.status is not EditStatus.DONE:
        reason = shorten_reason(edit.reason, _MAX_REASON_CHARS)
        return Thumbnail(caption, placeholder=f"{edit.status}: {reason}" if reason else str(edit.status))
    return make_thumbnail(edit.image, caption, link, side)


def build_edit_history(edit: Edit, rank: str, digits: Digits, link: Path | None) -> EditHistory | None:
    """Return the history of an edit, or None if it was made in one step."""
    found = edit_steps(edit)
    steps = [
        HistoryStep(
            stage.instruction,
            stage.plan,
            [_candidate_thumbnail(one, rank, digits, link) for one in stage.candidates[:_MAX_CANDIDATES]],
            max(0, len(stage.candidates) - _MAX_CANDIDATES),
        )
        for stage in found
    ]
    return EditHistory(edit.key.model, steps, is_linear(found)) if steps else None


def _candidate_thumbnail(candidate: Candidate, rank: str, digits: Digits, link: Path | None) -> Thumbnail:
    words = [] if candidate.score is None else [f"{rank} {formatting.format_value(candidate.score, digits)}"]
    words += ["picked"] if candidate.picked else []
    return replace(edit_thumbnail(candidate.edit, ", ".join(words), link, CANDIDATE_SIDE), picked=candidate.picked)
