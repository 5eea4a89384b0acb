"""Benchmarks built from your own images. `name` is the title of the benchmark; it defaults to the folder's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.api.runs import watch_calls
from creval.calls.settings import JudgeSettings
from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.core.progress_line import ProgressLine, count_progress
from creval.reporting.output import CommandOutput
from creval.reporting.result import Result

if TYPE_CHECKING:
    from creval.building.complexbench.builder import DetectObjects
    from creval.editors.base import EditorOptions


def build_creval(
    images: str | Path,
    out: str | Path,
    writer: str,
    *,
    asker: str = "",
    checker: str = "",
    dimension: str = "balanced",
    instructions: str | Path | None = None,
    rewrite: bool = False,
    blind: bool = True,
    examples: str | Path | None = None,
    temperature: float | None = None,
    duplicates: str = "keep",
    settings: JudgeSettings | None = None,
    name: str = "",
) -> Result[Any]:
    """Write instructions and questions for images, in the form of CREval.

    `writer` writes the instructions and `asker` the questions. If `blind`, `checker` answers the questions from the
    source image alone. The same call resumes an interrupted build.
    """
    from creval.building.creval.builder import CrevalBuilder, CrevalBuildOptions

    wish = CrevalBuildOptions(
        dimension, Path(instructions) if instructions else None, rewrite, blind, Path(examples) if examples else None
    )
    roles = {"writer": writer, "asker": asker or writer, "checker": checker or writer}
    builder = CrevalBuilder(
        Path(images),
        Path(out),
        roles,
        wish,
        settings or JudgeSettings(),
        temperature=temperature,
        duplicates=duplicates,
    )
    return _build(builder, out, name)


def build_complex_edit(
    images: str | Path,
    out: str | Path,
    writer: str,
    *,
    steps: int = 8,
    temperature: float = 1.15,
    duplicates: str = "keep",
    settings: JudgeSettings | None = None,
    name: str = "",
) -> Result[Any]:
    """Write chains of atomic edits and their compound instructions C1 to CN, in the form of Complex-Edit."""
    from creval.building.complex_edit.builder import ComplexEditBuilder

    builder = ComplexEditBuilder(
        Path(images),
        Path(out),
        writer,
        settings or JudgeSettings(),
        steps=steps,
        temperature=temperature,
        duplicates=duplicates,
    )
    return _build(builder, out, name)


def build_complexbench(
    images: str | Path,
    out: str | Path,
    writer: str,
    *,
    checker: str = "",
    coco: str | Path | None = None,
    detector: str | None = None,
    level: str = "all",
    types: str = "",
    temperature: float = 0.7,
    duplicates: str = "keep",
    settings: JudgeSettings | None = None,
    name: str = "",
) -> Result[Any]:
    """Write parallel and chained steps, in the form of ComplexBench-Edit.

    Objects are read from COCO annotations (`coco`) or found by a `detector`.
    """
    from creval.building.complexbench.builder import ComplexBenchBuilder
    from creval.building.complexbench.edit_types import select_levels

    folder, source = Path(out), Path(images)
    builder = ComplexBenchBuilder(
        source,
        folder,
        {"writer": writer, "checker": checker or writer},
        settings or JudgeSettings(),
        object_finder(source, folder, coco, detector),
        levels=select_levels(level),
        types=types,
        temperature=temperature,
        duplicates=duplicates,
    )
    return _build(builder, out, name)


def build_ice(
    images: str | Path,
    out: str | Path,
    writer: str,
    *,
    captioner: str = "",
    tasks: str = "",
    each: int = 1,
    items: str | Path | None = None,
    templates: str | Path | None = None,
    derive: bool = False,
    source_type: str = "",
    temperature: float = 0.7,
    duplicates: str = "keep",
    settings: JudgeSettings | None = None,
    name: str = "",
) -> Result[Any]:
    """Write items for the tasks of ICE-Bench from captions of the images and filled-in templates."""
    from creval.building.ice.builder import IceBuilder, IceBuildOptions

    wish = IceBuildOptions(
        tasks,
        each,
        Path(items) if items else None,
        derive,
        False,
        Path(templates) if templates else None,
        source_type.casefold(),
    )
    roles = {"writer": writer, "captioner": captioner or writer}
    builder = IceBuilder(
        Path(images),
        Path(out),
        roles,
        wish,
        settings or JudgeSettings(),
        temperature=temperature,
        duplicates=duplicates,
    )
    return _build(builder, out, name)


def build_captions(bench: str | Path, writer: str, *, settings: JudgeSettings | None = None) -> Result[Any]:
    """Write captions of sources and ideal edits, and store them in the benchmark's folder.

    `open_benchmark` adds them to the samples, so that directional CLIP scores can be measured.
    """
    from creval.building.captions.builder import CaptionBuilder

    builder = CaptionBuilder(Path(bench), writer, settings or JudgeSettings())
    return _build(builder, builder.out, "")


def build_twins(
    images: str | Path,
    out: str | Path,
    writer: str,
    editor: str | Callable[..., Any],
    *,
    duplicates: str = "keep",
    editor_options: EditorOptions | None = None,
    settings: JudgeSettings | None = None,
) -> Result[Any]:
    """Describe images, and generate a synthetic twin of each image from its description alone.

    The pairs are written to the folder `images` in `out`. Benchmarks built from this folder distinguish real and
    synthetic sources.
    """
    from creval.building.twins.twin_build import TwinBuild

    work = TwinBuild(
        Path(images), Path(out), writer, editor, settings or JudgeSettings(), editor_options, duplicates=duplicates
    )
    with ProgressLine() as line:
        done = work.run(watch_calls(line, "building"))
    stopped = f" It stopped: {done.stopped}." if done.stopped else ""
    summary = f"{pluralise(done.pairs, 'pair')} in {out}, {len(done.left_out):,} left out.{stopped}"
    records = [{"name": name, "reason": reason} for name, reason in done.left_out.items()]
    return Result(done, CommandOutput([summary], [], {"left_out": done.left_out}, work.captions.warnings()), records)


def _build(builder: Any, out: str | Path, name: str) -> Result[Any]:
    builder.title = name
    with ProgressLine() as line:
        done = builder.run(watch_calls(line, "building"))
    stopped = f" It stopped: {done.stopped}." if done.stopped else ""
    summary = f"{pluralise(builder.item_count, builder.unit)} for {out}, {len(done.left_out):,} left out.{stopped}"
    records = [{"name": name, "reason": reason} for name, reason in done.left_out.items()]
    return Result(done, CommandOutput([summary], [], {"left_out": dict(done.left_out)}, list(done.notes)), records)


def object_finder(source: Path, folder: Path, coco: str | Path | None, detector: str | None) -> DetectObjects:
    """Return a function that finds the objects in images, from COCO annotations or with a detector."""
    from creval.building.complexbench.objects import Detections

    if (coco is None) == (detector is None):
        raise CrevalError("give either `coco` FILE or `metric_models` boxes=MODEL, an object detector.")

    def find_objects(names: Sequence[str]) -> Detections:
        if coco is not None:
            from creval.benchmarks.complexbench_edit.coco_boxes import read_objects_by_filename

            return Detections(read_objects_by_filename(Path(coco)), {})
        from creval.building.complexbench.detection import detect_objects
        from creval.metrics.object_detection import ObjectDetector

        find: Callable[..., Any] = ObjectDetector(str(detector)).find_boxes
        paths = {name: source / name for name in names}
        with ProgressLine() as line:
            watch = count_progress(line, "images searched")
            return detect_objects(folder, paths, str(detector), find, watch)

    return find_objects
