from __future__ import annotations

import json

import numpy as np
from rich.console import Console

from creval.core.edit_record import EditKey
from creval.core.human_ratings import Rating, ScoreRow, SkippedRows
from creval.reporting.commands.alignment_output import alignment_output
from creval.reporting.output import rich_table
from creval.stats.human.alignment import Alignment, align, indistinguishable_from_best
from creval.stats.human.ratings import metric_scores_from_rows

STRANGE = "B\x1b[31m[bold]"


def found(samples: int = 60, rated: int = 40) -> Alignment:
    generator = np.random.default_rng(0)
    rows, said = [], []
    for model in ("A", STRANGE):
        for n in range(samples):
            good = generator.uniform(0, 10)
            rows.append(ScoreRow(f"s{n}", model, "judge", good))
            for rater in ("ann", "bob") if n < rated else ():
                felt = float(np.clip(round(good + 2 * generator.normal()), 0, 10))
                said.append(Rating(rater, (EditKey(model, f"s{n}"),), "overall", 10 * felt))
    said.append(Rating("ann", (EditKey("C", "s1"),), "overall", 10.0))
    return align(said, metric_scores_from_rows(rows), resamples=200)


def shown(alignment: Alignment) -> str:
    console = Console(width=200, highlight=False, markup=False)
    with console.capture() as capture:
        for grid in alignment_output(alignment, {}).tables:
            console.print(rich_table(grid))
    return capture.get()


def test_sentences_and_names_without_control_characters() -> None:
    alignment = found()
    made = alignment_output(alignment, {})
    words = made.sentences
    assert words[0].startswith(
        "judge correlates with people's overall over samples, within each of 2 models: Spearman 0."
    )
    assert "One person compared with the others: 0." in words[0]
    assert words[1].startswith("If judge scores of 120 edits are used together with people's overall of 80, the inter")
    text = "\n".join([*words, *made.notes, shown(alignment)])
    assert "\x1b[31m" not in text
    assert "one person vs. the others" in text
    assert "B\\x1b[31m[bold]" in text


def test_notes_list_unused_ratings() -> None:
    left_out = {"human.csv": (SkippedRows("the rating is no number", 3, 7),)}
    lines = alignment_output(found(), left_out).notes
    assert "human.csv: 3 rows left out: the rating is no number (3, first in line 7)." in lines
    assert "1 rating without a score to compare with: models 'C'." in lines


def test_too_few_ratings_are_marked_as_unreliable() -> None:
    alignment = found(rated=12)
    (doubt,) = [line for line in alignment_output(alignment, {}).sentences if "is not reliable for" in line]
    assert doubt.endswith("(only 12 rated edits, at least 30 are needed).")
    assert "unreliable" in shown(alignment)


def test_json_is_complete_and_has_no_nan() -> None:
    alignment = found()
    findings = alignment_output(alignment, {})
    made = json.loads(json.dumps(findings.as_json(), allow_nan=False))
    said = made["people"]["overall"]
    assert said["metrics"]["judge"]["sample"]["strands"].keys() == {"A", STRANGE}
    assert said["predicted"]["A"]["rated"] == 40
    assert made["sentences"] == list(findings.sentences)


def with_metrics(**noise: float) -> Alignment:
    """Return ratings of 200 edits, and metrics that equal them plus noise of the given size."""
    generator = np.random.default_rng(1)
    rows, said = [], []
    for model in ("A", "B"):
        for n in range(100):
            good = generator.uniform(0, 10)
            said.append(Rating("ann", (EditKey(model, f"s{n}"),), "overall", 10 * good))
            rows += [ScoreRow(f"s{n}", model, m, good + by * generator.normal()) for m, by in noise.items()]
    return align(said, metric_scores_from_rows(rows), resamples=400)


def test_a_metric_is_called_best_only_if_that_is_decided() -> None:
    (clear, *_) = alignment_output(with_metrics(good=1.0, bad=8.0, worse=9.0), {}).sentences
    assert clear.startswith("Of 3 metrics, good has the highest correlation with people's overall over samples, within")
    alike = with_metrics(first=3.0, second=3.0, bad=30.0)
    (open_, *_) = alignment_output(alike, {}).sentences
    assert open_.startswith(
        "It is not decided which of 3 metrics has the highest correlation with people's overall over samples, within"
    )
    assert "Candidates: first and second (Spearman 0." in open_
    assert set(indistinguishable_from_best(alike.rating_alignments[0].metric_alignments)) == {"first", "second"}
