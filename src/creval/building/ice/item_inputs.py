"""Input images of an item: given ones, which are checked, or control images derived from a photograph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from creval.benchmarks.ice_bench.tasks import Task
from creval.building.ice.control_images import OUTPAINTING, POSE, is_single_colour, load_estimators, make_control_image
from creval.building.ice.files import ItemEntry, find_item_images, item_image_path
from creval.building.ice.jobs import ItemJob
from creval.building.ice.texts import ItemInputs, TaskUnsuitableError, is_text_only
from creval.building.image_files import save_png, write_error_reason
from creval.calls.text_generation import GenerationFailedError
from creval.core.images import open_mask, read_image_size
from creval.metrics.metric_inputs import MASK_THRESHOLD


class InputBuilder:
    """Preparation of the input images of jobs.

    Derived control images are written at once to their final paths in the benchmark's folder.
    """

    def __init__(self, folder: Path, derived: frozenset[str], models: Mapping[str, str]) -> None:
        self._folder, self._derived = folder, derived
        self._estimators = load_estimators(models)

    def check_models(self) -> None:
        """Raise an error if a model for control images cannot be loaded. Called before the first paid call."""
        for estimate in self._estimators.values():
            estimate(Image.new("RGB", (64, 64)))

    def plan_inputs(self, job: ItemJob, task: Task) -> ItemInputs:
        """Return the inputs of a job for a task. Derived images may not exist yet."""
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
        """Return the inputs of a job for a task, with derived images created.

        Raises an error if an image cannot be opened. Called before the item's paid calls.
        """
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
        """Return whether the job's image is a photograph from which a task's control image is derived."""
        if task.name == OUTPAINTING:
            return job.image_set.mask is None
        return not job.task_is_certain and task.control_metric in self._derived

    def _write_control_image(self, task: Task, photograph: Path, source: Path, mask: Path | None) -> None:
        """Derive a control image from a photograph, and write it and its mask, if it has one."""
        control = make_control_image(task, photograph, self._estimators)
        if is_single_colour(control.source):
            why = "nobody is found" if task.control_metric == POSE else "its control image would have a single colour"
            raise TaskUnsuitableError(f"{task.name} does not suit: {why}")
        for image, path in ((control.source, source), (control.mask, mask)):
            if image is not None and path is not None:
                try:
                    save_png(image, path)
                except OSError as error:
                    raise GenerationFailedError(f"{path} cannot be written: {write_error_reason(error)}") from error


def discard_derived_images(inputs: ItemInputs) -> None:
    """Delete images that were derived from a photograph. Given images stay."""
    for path in (inputs.source, inputs.mask):
        if inputs.photograph is not None and path is not None:
            path.unlink(missing_ok=True)


def read_item_inputs(entry: ItemEntry, task: Task, folder: Path) -> ItemInputs:
    """Return the inputs of an existing item."""
    images = find_item_images(entry, folder)
    references = tuple(path for kind, path in images.items() if kind.startswith("reference"))
    return ItemInputs(task, images.get("source"), images.get("mask"), references, images.get("photograph"))


def _check_mask(image: Path, mask: Path) -> None:
    """Raise `GenerationFailedError` if a mask has another size than its image, or is all black or all white."""
    (width, height), (mask_width, mask_height) = read_image_size(image), read_image_size(mask)
    if (width, height) != (mask_width, mask_height):
        raise GenerationFailedError(f"the mask is {mask_width} x {mask_height}, but the image is {width} x {height}")
    darkest, lightest = open_mask(mask).getextrema()
    if not isinstance(lightest, int) or lightest <= MASK_THRESHOLD:
        raise GenerationFailedError("the mask has no white pixels (transparent pixels do not count as white)")
    if isinstance(darkest, int) and darkest > MASK_THRESHOLD:
        raise GenerationFailedError("the mask is all white, so nothing of the image would be kept")
