"""The pictures that an editor is given for an item: brought and checked, or made of a photo."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from creval.benchmarks.ice_bench.tasks import Task
from creval.building.ice.control_images import OUTPAINTING, Depth, derive, is_plain
from creval.building.ice.files import Entry, picture_path, pictures_of
from creval.building.ice.jobs import Job
from creval.building.ice.texts import Inputs, UnsuitedError, words_alone
from creval.building.images import put_png
from creval.calls.text_generation import UnwrittenError
from creval.core.images import open_mask, size_of
from creval.metrics.inputs import REGION


class Preparing:
    """Makes jobs' inputs ready. Control pictures that are made (`derived`, by the gauges that
    measure them) are written at once where they will lie in the benchmark's folder."""

    def __init__(self, folder: Path, derived: frozenset[str], depth: str | None) -> None:
        self._folder, self._derived = folder, derived
        self._depth = _depth_map(depth) if depth else None

    def check(self) -> None:
        """Refuse a model for depth that cannot be had, before anything is paid."""
        if self._depth is not None:
            self._depth(Image.new("RGB", (64, 64)))

    def planned(self, job: Job, task: Task) -> Inputs:
        """What an editor will be given, ready or not."""
        pieces = job.pieces
        if words_alone(task):
            return Inputs(task, photograph=pieces.picture)
        own = (pieces.picture,) if pieces.picture else ()
        references = (pieces.references or own) if task.reference else ()
        if not task.edits or pieces.picture is None:
            return Inputs(task, references=references)
        source, mask, photograph = pieces.picture, pieces.mask, None
        if self._derives(job, task):
            item, photograph = job.item(task), pieces.picture
            source, mask = (
                picture_path(self._folder, item, task, kind) for kind in ("src", "mask")
            )
        return Inputs(task, source, mask if task.masked else None, references, photograph)

    def inputs(self, job: Job, task: Task) -> Inputs:
        """What an editor is given. What cannot be opened is known before anything is paid."""
        found = self.planned(job, task)
        for path in found.references:
            size_of(path)
        if found.source is None:
            return found
        if found.photograph is not None:
            self._make(task, found.photograph, found.source, found.mask)
        elif found.mask is not None:
            _check_mask(found.source, found.mask)
        return found

    def _derives(self, job: Job, task: Task) -> bool:
        """Whether a task's control picture is made: not where somebody brought it as such."""
        if task.name == OUTPAINTING:
            return job.pieces.mask is None
        return not job.sure and task.control in self._derived

    def _make(self, task: Task, photograph: Path, source: Path, mask: Path | None) -> None:
        """Make a control picture and, where there is one, its mask."""
        made = derive(task, photograph, self._depth)
        if is_plain(made.source):
            raise UnsuitedError(
                f"{task.name} does not suit: the picture that is made for it has one plain colour"
            )
        for picture, path in ((made.source, source), (made.mask, mask)):
            if picture is not None and path is not None:
                _put(picture, path)


def _put(picture: Image.Image, path: Path) -> None:
    try:
        put_png(picture, path)
    except OSError as error:
        why = error.strerror or error
        raise UnwrittenError(f"{path} cannot be written: {why}") from error


def discard(inputs: Inputs) -> None:
    """Take away what was made of a photograph; what people brought stays."""
    for path in (inputs.source, inputs.mask):
        if inputs.photograph is not None and path is not None:
            path.unlink(missing_ok=True)


def inputs_of(entry: Entry, task: Task, folder: Path) -> Inputs:
    """The inputs of an item that is there."""
    there = pictures_of(entry, folder)
    references = tuple(path for kind, path in there.items() if kind.startswith("reference"))
    return Inputs(task, there.get("source"), there.get("mask"), references, there.get("photograph"))


def _check_mask(picture: Path, mask: Path) -> None:
    """Refuse a mask that is not for its picture, or does not say where to edit it."""
    (wide, high), (w, h) = size_of(picture), size_of(mask)
    if (wide, high) != (w, h):
        raise UnwrittenError(f"its mask is {w} x {h}, and the picture {wide} x {high}")
    darkest, lightest = open_mask(mask).getextrema()
    if not isinstance(lightest, int) or lightest <= REGION:
        raise UnwrittenError("nothing in its mask is white (what is transparent does not count)")
    if isinstance(darkest, int) and darkest > REGION:
        raise UnwrittenError("all of its mask is white: nothing would be kept")


def _depth_map(model: str) -> Depth:
    from creval.metrics.depth import DepthMap

    return DepthMap(model).map_of
