"""The images that an editor is given for an item: brought and checked, or made of a photo."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from creval.benchmarks.ice_bench.tasks import Task
from creval.building.ice.control_images import OUTPAINTING, DepthEstimator, is_single_colour, make_control_image
from creval.building.ice.files import ItemEntry, find_item_images, item_image_path
from creval.building.ice.jobs import ItemJob
from creval.building.ice.texts import ItemInputs, TaskUnsuitableError, is_text_only
from creval.building.image_files import save_png, write_error_reason
from creval.calls.text_generation import GenerationFailedError
from creval.core.images import open_mask, read_image_size
from creval.metrics.metric_inputs import MASK_THRESHOLD


class InputBuilder:
    """Makes jobs' inputs ready. Control images that are made (`derived`, by the metrics that measure them) are written
    at once where they will lie in the benchmark's folder."""

    def __init__(self, folder: Path, derived: frozenset[str], depth: str | None) -> None:
        self._folder, self._derived = folder, derived
        self._depth: DepthEstimator | None = None
        if depth:
            from creval.metrics.depth import DepthModel

            self._depth = DepthModel(depth).estimate_depth

    def check_depth_model(self) -> None:
        """Refuse a model for depth that cannot be had, before anything is paid."""
        if self._depth is not None:
            self._depth(Image.new("RGB", (64, 64)))

    def plan_inputs(self, job: ItemJob, task: Task) -> ItemInputs:
        """Return what an editor will be given, ready or not."""
        pieces = job.image_set
        if is_text_only(task):
            return ItemInputs(task, photograph=pieces.image)
        own = (pieces.image,) if pieces.image else ()
        references = (pieces.references or own) if task.reference_metric else ()
        if not task.has_source or pieces.image is None:
            return ItemInputs(task, references=references)
        source, mask, photograph = pieces.image, pieces.mask, None
        if self._is_derived(job, task):
            item, photograph = job.item_id(task), pieces.image
            source, mask = (item_image_path(self._folder, item, task, kind) for kind in ("src", "mask"))
        return ItemInputs(task, source, mask if task.has_mask else None, references, photograph)

    def prepare_inputs(self, job: ItemJob, task: Task) -> ItemInputs:
        """Return what an editor is given. What cannot be opened is known before anything is paid."""
        found = self.plan_inputs(job, task)
        for path in found.references:
            read_image_size(path)
        if found.source is None:
            return found
        if found.photograph is not None:
            self._write_control_image(task, found.photograph, found.source, found.mask)
        elif found.mask is not None:
            _check_mask(found.source, found.mask)
        return found

    def _is_derived(self, job: ItemJob, task: Task) -> bool:
        """Return whether a task's control image is made: not where somebody brought it as such."""
        if task.name == OUTPAINTING:
            return job.image_set.mask is None
        return not job.task_is_certain and task.control_metric in self._derived

    def _write_control_image(self, task: Task, photograph: Path, source: Path, mask: Path | None) -> None:
        """Make a control image and, where there is one, its mask."""
        made = make_control_image(task, photograph, self._depth)
        if is_single_colour(made.source):
            raise TaskUnsuitableError(
                f"{task.name} does not suit: the picture that is made for it has one plain colour"
            )
        for image, path in ((made.source, source), (made.mask, mask)):
            if image is not None and path is not None:
                try:
                    save_png(image, path)
                except OSError as error:
                    raise GenerationFailedError(f"{path} cannot be written: {write_error_reason(error)}") from error


def discard_derived_images(inputs: ItemInputs) -> None:
    """Take away what was made of a photograph; what people brought stays."""
    for path in (inputs.source, inputs.mask):
        if inputs.photograph is not None and path is not None:
            path.unlink(missing_ok=True)


def read_item_inputs(entry: ItemEntry, task: Task, folder: Path) -> ItemInputs:
    """Return the inputs of an item that is there."""
    there = find_item_images(entry, folder)
    references = tuple(path for kind, path in there.items() if kind.startswith("reference"))
    return ItemInputs(task, there.get("source"), there.get("mask"), references, there.get("photograph"))


def _check_mask(image: Path, mask: Path) -> None:
    """Refuse a mask that is not for its image, or does not say where to edit it."""
    (wide, high), (w, h) = read_image_size(image), read_image_size(mask)
    if (wide, high) != (w, h):
        raise GenerationFailedError(f"its mask is {w} x {h}, and the picture {wide} x {high}")
    darkest, lightest = open_mask(mask).getextrema()
    if not isinstance(lightest, int) or lightest <= MASK_THRESHOLD:
        raise GenerationFailedError("nothing in its mask is white (what is transparent does not count)")
    if isinstance(darkest, int) and darkest > MASK_THRESHOLD:
        raise GenerationFailedError("all of its mask is white: nothing would be kept")
