"""Opens the review for a folder that `creval build` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from creval.benchmarks import read_title
from creval.benchmarks.complex_edit.rows import has_row_files
from creval.benchmarks.complexbench_edit.release import find_complexbench_folder
from creval.benchmarks.creval.release import find_creval_folder
from creval.building.build_manifest import BUILD_RECORD
from creval.building.complex_edit.review import ComplexEditReview
from creval.building.complexbench.files import ComplexBenchEntries
from creval.building.complexbench.review import ComplexBenchReview
from creval.building.creval.review import CrevalReview
from creval.building.ice.files import IceItems
from creval.building.ice.review import IceReview
from creval.building.review.base import Review
from creval.building.review.json_review import JsonReview
from creval.building.review.named_review import NamedReview
from creval.building.review.votes import VOTE_FILE, Votes, check_reviewer
from creval.core.errors import CrevalError
from creval.store import DATABASE


def open_review(path: Path, reviewer: str = "") -> Review:
    """Return the review of a built benchmark, under a reviewer's name if one is given.

    Releases cannot be reviewed, since reviews write into the folder.
    """
    review = _open_shared_review(path)
    if reviewer:
        return NamedReview(review, check_reviewer(reviewer))
    return NamedReview(review) if (review.folder / VOTE_FILE).is_file() else review


def open_votes(path: Path) -> Votes:
    """Return the votes of a built benchmark's reviewers."""
    return Votes(_open_shared_review(path).folder)


def _open_shared_review(path: Path) -> JsonReview[Any]:
    if not path.is_dir():
        raise CrevalError(f"{path} is not a folder. Give the output folder of `creval build`.")
    review = _find_review(path)
    if review is None or not review.groups():
        raise CrevalError(
            f"{path} contains nothing to review. Only benchmarks of `creval build` (`creval`, `complex-edit`, "
            "`complexbench` and `ice`) can be reviewed."
        )
    if name := read_title(path):
        review.title = name if isinstance(review, CrevalReview) else f"{name} · {review.title}"
    return review


def _find_review(path: Path) -> JsonReview[Any] | None:
    folder = find_creval_folder(path)
    if folder is not None and any((folder / name).is_file() for name in (BUILD_RECORD, DATABASE)):
        return CrevalReview(folder)
    if has_row_files(path):
        return ComplexEditReview(path)
    folder = find_complexbench_folder(path)
    if folder is not None:
        subsets = ComplexBenchEntries(folder).subsets.values()
        if any(isinstance(entry, dict) and "made" in entry for entries in subsets for entry in entries.values()):
            return ComplexBenchReview(folder)
    return IceReview(path) if IceItems.items_file(path).is_file() else None
