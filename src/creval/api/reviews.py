"""Agreement of the people who reviewed a built benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from creval.reporting.result import Result

if TYPE_CHECKING:
    from creval.building.review.votes import ReviewComparison


def review_agreement(bench: str | Path) -> Result[ReviewComparison]:
    """Compare the named reviewers of a built benchmark: agreement, kappa with its interval, and disagreements."""
    from creval.building.review.loader import open_votes
    from creval.building.review.votes import compare_reviewers
    from creval.reporting.commands.review_output import reviewers_output

    found = compare_reviewers(open_votes(Path(bench)))
    output = reviewers_output(found)
    return Result(found, output, output.data["disagreements"])
