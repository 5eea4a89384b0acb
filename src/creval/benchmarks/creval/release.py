"""Reader of CREval's official release. Repairs and problems become issues of the dataset.

Layout: `bench/instruction.json`, `bench/image/`, `bench/questions_all/METRIC/STEM.json`. A sample's
id is the stem of its source image, which the release uses in all file names.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from creval.core.benchmark import Dataset, DatasetIssue, IssueList
from creval.core.errors import CrevalError
from creval.core.files import coerce_text, dig, filename_stem, read_json
from creval.core.probe import Question
from creval.core.release_source import HUB, ReleaseSource
from creval.core.sample import InstructionStep, Sample
from creval.core.scales import get_scale
from creval.core.schema import OVERALL, Level

METRICS = ("IF", "VC", "VQ")
MIN_QUESTIONS = 5
"""Minimum number of questions of a sample in each metric."""
TAXONOMY: dict[str, tuple[str, str, str]] = {
    "Customization": ("Derivative Characters", "Reimagined Representations", "Surreal Fantasy"),
    "Contextualization": ("Containerized Scenario", "Commercial Design", "Informational & Narrative Expression"),
    "Stylization": ("Artistic Style Transformation", "Identity & Cultural Transformation", "Material Transformation"),
}
CATEGORY_BY_DIMENSION = {dim: category for category, dims in TAXONOMY.items() for dim in dims}
LEVELS = (
    OVERALL,
    Level("category", "categories", tuple(TAXONOMY), mean_of="dimension"),
    Level("dimension", "dimensions", tuple(CATEGORY_BY_DIMENSION)),
)
# Dimensions of `class_id` 1, 2, ... in the release, whose categories are in another order than in the paper.
CLASS_DIMENSIONS = (*TAXONOMY["Customization"], *TAXONOMY["Stylization"], *TAXONOMY["Contextualization"])

_YES_NO = get_scale("yes/no")
_AUTHORS = {"writer": "gpt-4o", "asker": "qwen2.5-vl-72b"}  # figure 4 of the paper
# Samples of the release that are not in the paper's tables.
_NOT_IN_PAPER = frozenset(f"i2i_{n:04d}" for n in (31, 32, 33, *range(45, 72)))
SOURCE = ReleaseSource(
    kind=HUB,
    repository="ChonghuinanWang/CREval",
    files=("CREval-Bench/*", "bench/*"),
    moved={"CREval-Bench": "bench"},
    license="MIT",
    contents="the folder CREval-Bench, as bench,",
    layout="bench/instruction.json, bench/questions_all/METRIC/STEM.json, bench/image/",
)
"""The authors' release."""


def find_creval_folder(path: Path) -> Path | None:
    """Return `path` or a folder in it, whichever has `instruction.json` and the questions. None if neither has."""
    for folder in (path, path / "bench", path / "CREval" / "bench"):
        if (folder / "instruction.json").is_file() and _question_folder(folder) is not None:
            return folder
    return None


def _question_folder(folder: Path) -> Path | None:
    # The second spelling is that of the release's first version.
    for name in ("questions_all", "questiions_all", "questions"):
        if (folder / name).is_dir():
            return folder / name
    return None


def load_creval_dataset(folder: Path) -> Dataset:
    """Load the samples of a release. Repairs and problems become issues of the dataset."""
    folder = folder.resolve()
    entries = read_json(folder / "instruction.json")
    if not isinstance(entries, list):
        raise CrevalError(f"{folder / 'instruction.json'} must contain a list of samples.")
    questions = _question_folder(folder)
    if questions is None:
        raise CrevalError(f"{folder} has no folder questions_all.")
    findings = IssueList()
    files = {metric: _json_files(questions / metric) for metric in METRICS}
    samples: dict[str, Sample] = {}
    for position, entry in enumerate(entries, 1):
        sample = _parse_sample(entry, position, folder, files, findings)
        if sample is not None and sample.id in samples:
            where, note = f"instruction.json, entry {position}", "a second sample of this id; left out"
            findings.add("repeated sample", where, note, original=sample.id)
        elif sample is not None:
            samples[sample.id] = sample
    for metric in METRICS:
        for stem in sorted(files[metric].keys() - samples.keys()):
            note = "no sample in instruction.json has this image; left out"
            findings.add("questions without a sample", f"{metric}/{stem}", note)
    if not samples:
        raise CrevalError(f"{folder / 'instruction.json'} contains no usable sample.")
    if (folder / "build.json").is_file():
        findings += _find_few_questions(samples.values())
    subsets, authors = {"paper": frozenset(samples.keys() - _NOT_IN_PAPER)}, _AUTHORS
    if not samples.keys() > _NOT_IN_PAPER:
        subsets, authors = {}, _read_authors(folder)
    return Dataset("creval", folder, tuple(samples.values()), subsets, tuple(findings), authors, LEVELS)


def _find_few_questions(samples: Iterable[Sample]) -> Iterator[DatasetIssue]:
    """Yield an issue for each metric of a sample with too few questions, for example after a review."""
    for sample in samples:
        counts = Counter(question.metric for question in sample.questions)
        for metric in METRICS:
            if 0 < counts[metric] < MIN_QUESTIONS:
                note = f"a metric should have {MIN_QUESTIONS}; with fewer, each question counts more"
                where = f"{metric}/{sample.id}"
                yield DatasetIssue("few questions", where, original=str(counts[metric]), note=note)


def _read_authors(folder: Path) -> dict[str, str]:
    """Return the models that created a benchmark, by role, as recorded by `creval build` in `build.json`."""
    try:
        models = read_json(folder / "build.json")["models"]
        return {role: str(models[role]) for role in _AUTHORS if models.get(role)}
    except (CrevalError, KeyError, TypeError, AttributeError):
        return {}


def _json_files(folder: Path) -> dict[str, str]:
    if not folder.is_dir():
        return {}
    names = sorted(os.listdir(folder))  # noqa: PTH208 (only names are needed)
    return {name[:-5]: f"{folder}/{name}" for name in names if name.endswith(".json")}


def _parse_sample(
    entry: Any, position: int, folder: Path, files: Mapping[str, Mapping[str, str]], issues: IssueList
) -> Sample | None:
    image = dig(entry, "input_image")
    image = image[0] if isinstance(image, list) and image else image
    if not isinstance(image, str) or not filename_stem(image):
        issues.add("broken entry", f"instruction.json, entry {position}", "names no source image; left out")
        return None
    identity = filename_stem(image)
    instruction = coerce_text(entry.get("input_prompt"))
    if not instruction.strip():
        issues.add("empty instruction", identity, "left unchanged")
    source = Path(os.path.normpath(folder / image))
    inside = source.is_relative_to(folder)
    if not inside:
        issues.add("image outside", identity, "the image is outside the benchmark; not used", original=image)
    found: list[Question] = []
    for metric in METRICS:
        found += _parse_questions(metric, identity, files[metric].get(identity), issues)
    return Sample(
        identity,
        instruction,
        source if inside else None,
        _parse_tags(entry.get("class_id"), identity, issues),
        tuple(found),
        _parse_steps(entry.get("steps"), identity, issues),
    )


def _parse_steps(released: object, identity: str, issues: IssueList) -> tuple[InstructionStep, ...]:
    """Return the steps of the instruction. Only benchmarks made by `creval build` have them, not the release."""
    if released is None:
        return ()
    if isinstance(released, list) and all(isinstance(s, str) and s.strip() for s in released):
        return tuple(InstructionStep(coerce_text(step)) for step in released)
    issues.add("broken steps", identity, "its steps are not a list of texts; left out")
    return ()


def _parse_tags(number: object, identity: str, issues: IssueList) -> dict[str, str]:
    if isinstance(number, int) and 1 <= number <= len(CLASS_DIMENSIONS):
        dimension = CLASS_DIMENSIONS[number - 1]
        return {"category": CATEGORY_BY_DIMENSION[dimension], "dimension": dimension}
    issues.add("unknown class", identity, "counts in the overall score only", original=repr(number))
    return {}


def _parse_questions(metric: str, identity: str, path: str | None, issues: IssueList) -> list[Question]:
    where = f"{metric}/{identity}"
    if path is None:
        issues.add("no questions", where, f"there is no file for it in {metric}")
        return []
    try:
        content = read_json(path)
    except CrevalError as error:
        issues.add("broken file", where, str(error))
        return []
    entries = content.get("quality_check_questions") if isinstance(content, dict) else content
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        issues.add("broken file", where, "it contains no list of questions")
        return []
    questions = [_parse_question(metric, position, entry, where, issues) for position, entry in enumerate(entries, 1)]
    _check_question_block(questions, where, issues)
    return questions


def _parse_question(metric: str, position: int, entry: Mapping[str, Any], where: str, issues: IssueList) -> Question:
    label = coerce_text(entry.get("question_id"))
    if not label:
        label = f"Q{position}"
        issues.add("question id", where, "", label, "none", label)
    text = coerce_text(entry.get("question")).strip()
    released = coerce_text(entry.get("answer"))
    reference = _YES_NO.normalise_reference(released)
    weight = _parse_weight(entry.get("weight"))
    if not text:
        reference = None
        issues.add("empty question", where, "it cannot be asked and counts as unanswered", label)
    elif reference is None:
        issues.add("unreadable reference", where, "answers to it cannot be scored", label, released)
    elif reference != released:
        issues.add("reference", where, "", label, released, reference)
    choices = entry.get("choices")
    if choices != ["Yes", "No"] and choices is not None and text:
        issues.add("choices", where, "", label, repr(choices), "['Yes', 'No']")
    if weight != entry.get("weight"):
        issues.add("weight", where, "", label, repr(entry.get("weight")), f"{weight:g}")
    rationale = coerce_text(entry.get("thinking_process"))
    identity = f"{metric}/{position}"
    return Question(identity, metric, text, "yes/no", reference, released, weight, label, rationale)


def _parse_weight(released: object) -> float:
    """Return a weight, which may be a string in the release; 1 if it is invalid."""
    try:
        weight = float(released) if isinstance(released, int | float | str) else 1.0
    except ValueError:
        return 1.0
    return weight if 0 < weight < 1e6 and not isinstance(released, bool) else 1.0


def _check_question_block(questions: Sequence[Question], where: str, issues: IssueList) -> None:
    if not questions:
        issues.add("no questions", where, "the file's list is empty")
    labels = [question.label for question in questions]
    if len(set(labels)) < len(labels):
        note = "a block of questions occurs twice; both are used and count"
        issues.add("repeated block", where, note, original=f"{len(labels)} questions under {len(set(labels))} ids")
