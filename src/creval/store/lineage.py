"""The ancestors of an edit: its earlier steps, and all candidates of a step of which one was picked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from creval.core.edit_record import Edit, EditKey, EditStatus

_STEP_PREFIXES = re.compile("^(?:the step before: )+")


def with_ancestors(edit: Edit, edits: Mapping[EditKey, Edit], folder: Path, model: str) -> Edit:
    """Return an edit with its ancestors (first step first), with `model` as the model of all of them.

    Images are only looked up inside the folder. They are therefore found even if the folder was moved, and images
    outside of the folder are never shown.
    """

    def own(one: Edit) -> Edit:
        parents = tuple(key._replace(model=model) for key in one.parents)
        image = _image_in_folder(folder, one.image) if one.image is not None else None
        reason = _STEP_PREFIXES.sub("a step before: ", one.reason)
        key = one.key._replace(model=model)
        return one._replace(key=key, parents=parents, image=image, reason=reason)

    return own(edit)._replace(ancestors=tuple(map(own, _find_ancestors(edit, edits))))


def _image_in_folder(folder: Path, image: Path) -> Path | None:
    """Return an image by the last two parts of its path (subfolder and name); None if it is not in the folder."""
    here = folder.absolute().joinpath(*image.parts[-2:])
    inside = here.is_file() and here.resolve().is_relative_to(folder.resolve())
    return here if inside else None


def _find_ancestors(edit: Edit, edits: Mapping[EditKey, Edit]) -> list[Edit]:
    found: list[Edit] = []
    seen, now = {edit.key}, list(edit.parents)
    while now:
        stage = []
        for key in now:
            # A draw has its own chain of steps. A picked edit was picked among all candidates.
            for one in [edits[key]] if edit.key.draw and key in edits else _find_candidates(key, edits):
                if one.key not in seen:
                    seen.add(one.key)
                    stage.append(one)
        found = stage + found
        now = list(dict.fromkeys(key for one in stage for key in one.parents if key not in seen))
    return [one for one in found if one.image is not None or one.status is not EditStatus.DONE]


def _find_candidates(key: EditKey, edits: Mapping[EditKey, Edit]) -> list[Edit]:
    """Return the edits that a parent's key stands for.

    They are the edit itself or, if it was one of several candidates, all of these. If the key is that of a step that
    was never started, the last step before it is used.
    """
    name, _, depth = key.sample.rpartition("#")
    if key not in edits and depth.isascii() and depth.isdigit() and len(depth) < 4:
        earlier = (EditKey(key.model, f"{name}#{at}", draw) for at in range(int(depth) - 1, 0, -1) for draw in (0, 1))
        key = next((one for one in earlier if one in edits), key)
    if key.draw == 0:
        return [edits[key]] if key in edits else []
    found = []
    draw = 1
    while (one := edits.get(key._replace(draw=draw))) is not None:
        found.append(one)
        draw += 1
    return found
