"""The images of a sample, the history of its edits, and the two images to compare."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from creval.core import formatting
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.images import ImageError, read_image_size
from creval.core.sample import Sample
from creval.reporting.edit_history import EditStep, edit_steps, is_linear
from creval.web.common.browser_images import MASK, REFERENCE, SOURCE, ancestor_image_name, edit_image_name
from creval.web.common.pages import link
from creval.web.viewer.filters import Filters, column_values
from creval.web.viewer.list_pages import models_by_rank
from creval.web.viewer.snapshot import Snapshot

_HISTORY_KEYS = frozenset({"instruction", "plan", "scores", "picked_from"})  # metadata that the history shows
_STATUS_LABELS = {
    EditStatus.DONE: "No image",
    EditStatus.ABSENT: "No edit",
    EditStatus.REFUSED: "Refused",
    EditStatus.FAILED: "Failed",
    EditStatus.UNSUPPORTED: "Not supported",
    EditStatus.IMPOSSIBLE: "Not possible",
}


class SampleImage(NamedTuple):
    """An image of a sample.

    If it cannot be shown, `missing` is the reason, and `state` says briefly what happened (by default "No image").
    """

    name: str
    title: str
    missing: str
    width: int
    height: int
    medium: str
    full: str
    model: str = ""
    scores: Sequence[tuple[str, str]] = ()
    metadata: str = ""
    parents: Sequence[tuple[str, str]] = ()
    state: str = "No image"


class EditHistoryView(NamedTuple):
    """The steps that led to a model's edit. `is_linear` if each step has only one image."""

    model: str
    steps: Sequence[EditStepView]
    is_linear: bool


class EditStepView(NamedTuple):
    """One step of an edit: instruction, plan, and images, each with its score and whether it was picked."""

    instruction: str
    plan: str
    images: Sequence[tuple[SampleImage, str, bool]]


def list_sample_images(snapshot: Snapshot, sample: Sample, edits: Sequence[Edit]) -> list[SampleImage]:
    """Return the source, mask and references of a sample, then all edits, the best model's first."""
    found = []
    if sample.source is not None:
        found.append(sample_image(SOURCE, "source", sample.source, sample=sample.id, name=SOURCE))
    if sample.mask is not None:
        found.append(sample_image(MASK, "mask", sample.mask, sample=sample.id, name=MASK))
    for number, path in enumerate(sample.references):
        title = "reference" if len(sample.references) == 1 else f"reference {number + 1}"
        name = f"{REFERENCE}:{number}"
        found.append(sample_image(name, title, path, sample=sample.id, name=name))
    draws = Counter(edit.key.model for edit in edits)
    for edit in _sort_edits(snapshot, edits):
        key = edit.key
        title = f"{key.model}, draw {key.draw}" if draws[key.model] > 1 else key.model
        made = _edit_image(sample, edit_image_name(key), title, edit)
        shown = _HISTORY_KEYS if edit_steps(edit) else frozenset()
        facts = {name: fact for name, fact in edit.metadata.items() if name not in shown}
        parents = [
            (f"{one.model}, {one.sample}, draw {one.draw}", link("/sample", id=one.sample))
            for one in (() if edit.ancestors else edit.parents)
        ]
        scores = _edit_scores(snapshot, key)
        found.append(made._replace(model=key.model, scores=scores, metadata=format_json(facts), parents=parents))
    return found


def _sort_edits(snapshot: Snapshot, edits: Sequence[Edit]) -> list[Edit]:
    """Return the edits of the models in the snapshot, the best model's first."""
    order = {model: place for place, model in enumerate(models_by_rank(snapshot))}
    shown = (edit for edit in edits if edit.key.model in order)
    return sorted(shown, key=lambda edit: (order[edit.key.model], edit.key.draw))


def list_edit_histories(snapshot: Snapshot, sample: Sample, edits: Sequence[Edit]) -> list[EditHistoryView]:
    """Return the histories of edits that took several steps or candidates, the best model's first."""
    histories = ((edit, edit_steps(edit)) for edit in _sort_edits(snapshot, edits))
    return [
        EditHistoryView(
            edit.key.model,
            [_edit_step_view(snapshot, sample, edit, *one) for one in enumerate(found, 1)],
            is_linear(found),
        )
        for edit, found in histories
        if found
    ]


def _edit_step_view(snapshot: Snapshot, sample: Sample, edit: Edit, number: int, step: EditStep) -> EditStepView:
    digits = snapshot.schema.find_metric(snapshot.schema.ranking_column).digits
    images = []
    for one in step.candidates:
        name = edit_image_name(edit.key) if one.position is None else ancestor_image_name(edit.key, one.position)
        title = f"{edit.key.model}, step {number}"
        if len(step.candidates) > 1:
            title += f", candidate {one.edit.key.draw}"
        value = "" if one.score is None else formatting.format_value(one.score, digits)
        score = f"{snapshot.schema.ranking_column} {value}" if value else ""
        images.append((_edit_image(sample, name, title, one.edit), score, one.picked))
    return EditStepView(step.instruction, step.plan, images)


def _edit_image(sample: Sample, name: str, title: str, edit: Edit) -> SampleImage:
    """Return the image of an edit, or the reason why there is none."""
    missing = "" if edit.image else edit.reason or "No reason is recorded."
    made = sample_image(name, title, edit.image, missing, sample=sample.id, name=name)
    return made._replace(state=_STATUS_LABELS[edit.status])


def sample_image(image: str, title: str, path: Path | None, missing: str = "", /, **address: str) -> SampleImage:
    """Return an image with its size and URLs. `address` are the URL parameters that select it."""
    width = height = 0
    if path is not None:
        try:
            width, height = read_image_size(path)
        except ImageError as error:
            missing = str(error)
    medium, full = link("/image", **address, size="medium"), link("/image", **address)
    return SampleImage(image, title, missing, width, height, medium, full)


def _edit_scores(snapshot: Snapshot, key: EditKey) -> list[tuple[str, str]]:
    """Return the scores of a model on a sample, the ranking column first."""
    if snapshot.table is None or key.model not in snapshot.models:
        return []
    place = snapshot.models.index(key.model), snapshot.sample_positions[key.sample]
    columns = sorted(snapshot.schema.columns, key=lambda column: column != snapshot.schema.ranking_column)
    found = []
    for column in columns:
        value = float(column_values(snapshot, column)[place])
        if not math.isnan(value):
            found.append((column, formatting.format_value(value, snapshot.schema.find_metric(column).digits)))
    return found


def select_compared(
    images: Sequence[SampleImage], filters: Filters, params: Mapping[str, str]
) -> tuple[SampleImage | None, SampleImage | None]:
    """Return the two images to compare: those in the URL parameters, or the source and an edit."""
    existing = [image for image in images if not image.missing]
    if len(existing) < 2:
        return None, None
    by_name = {formatting.escape_control(image.name): image for image in existing}
    by_name |= {image.name: image for image in existing}
    edits = [image for image in existing if image.model]
    wanted = [image for image in edits if image.model == filters.model]
    left = by_name.get(params.get("left", ""), existing[0])
    default = (wanted or edits or existing[1:])[0]
    right = by_name.get(params.get("right", ""), default)
    if left == right and not params.get("right"):
        right = next(image for image in reversed(existing) if image != left)
    return left, right


def format_json(value: object) -> str:
    """Format a value as indented JSON. Returns "" for an empty value."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value else ""
