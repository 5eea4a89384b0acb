"""Tests of sentences and tables about missing edits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from creval.analysis.scoring import score
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.reporting import missing_edits, plots, run_facts, sentences
from creval.reporting.export.leaderboard import leaderboard_json
from creval.store import Run, RunWriter, open_run
from tests.stats import written
from tests.stats.test_missing import ANSWERS, DIMENSIONS

HOSTILE = "no\x1b[31m <script>\n" + "very " * 100


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return open_run(written.write(tmp_path, ANSWERS, DIMENSIONS))


def test_counts_and_reasons_by_status() -> None:
    reasons = Counter({"filter": 3, "": 1})
    found = {"A": {EditStatus.REFUSED: reasons, EditStatus.ABSENT: Counter({"gone": 12})}}
    assert missing_edits.missing_sentences(found) == ["A has 16 missing edits: 4 refused (filter (3)); 12 absent."]
    several = Counter({f"r{n}": 9 - n for n in range(5)})
    (line,) = missing_edits.missing_sentences({"A": {EditStatus.FAILED: several}})
    assert line == "A has 35 missing edits: 35 failed (r0 (9); r1 (8); r2 (7); and others)."
    grid = missing_edits.missing_table(found)
    assert grid is not None
    assert grid.rows == [["A", "refused", "filter", "3"], ["A", "refused", "", "1"], ["A", "absent", "gone", "12"]]
    assert missing_edits.missing_table({}) is None


def test_reasons_are_escaped_and_shortened(tmp_path: Path) -> None:
    written.write(tmp_path, ANSWERS, DIMENSIONS)
    with RunWriter(tmp_path) as store:
        store.put_edits([Edit(EditKey("A", "s3"), EditStatus.REFUSED, reason=HOSTILE)])
    with open_run(tmp_path) as run:
        line = missing_edits.missing_sentences(missing_edits.find_missing_edits(run, ["A"], {"s3"}))[0]
    assert r"no\x1b[31m <script> very" in line
    assert len(line) < 170


def test_a_status_is_not_repeated() -> None:
    assert missing_edits._format_status(EditStatus.REFUSED, Counter({"refused: no hats": 2})) == "2 refused (no hats)"


def test_each_policy_is_stated(run: Run) -> None:
    def said(**rule: object) -> list[str]:
        table = score(run, resamples=100, **rule).table  # type: ignore[arg-type]
        return missing_edits.missing_policy_sentences(table, missing_edits.missing_from_table(run, table))

    assert said() == ["Edits that are refused or absent are left out of the scores."]
    assert said(missing="zero") == ["Edits that are refused or absent count as failed: 0 in IF, VC and VQ."]
    assert said(common=True) == ["Scored on the 2 of 4 samples that all 2 models have a score for."]


def test_no_sentence_if_nothing_is_missing(tmp_path: Path) -> None:
    written.write(tmp_path, {"A": {"s1": "++++"}}, DIMENSIONS)
    with open_run(tmp_path) as run:
        table = score(run, resamples=100).table
        assert missing_edits.missing_policy_sentences(table, {}) == []
        assert missing_edits.missing_policy_sentences(replace(table, missing="zero"), {}) == [
            "No edit is missing, so none counts as failed."
        ]


def test_metrics_without_a_worst_value_are_named(tmp_path: Path) -> None:
    """Distances together with scores, and cosines alone."""
    found = {"A": {EditStatus.REFUSED: Counter({"no": 1})}}
    for name, expected in (
        ("complexbench-edit", "0 in score. L1 and L2 have no worst value, so these edits are left out"),
        ("clip", "CLIP_img and CLIP_dir have no worst value, so edits that are"),
    ):
        written.write(tmp_path / name, {}, DIMENSIONS, manifest={"protocol": name, "levels": []})
        with RunWriter(tmp_path / name) as store:
            store.put_edits([Edit(EditKey("A", "s1"), EditStatus.REFUSED)])
        with open_run(tmp_path / name) as run:
            table = replace(score(run, resamples=100).table, missing="zero")
            assert expected in missing_edits.missing_policy_sentences(table, found)[0]


def test_tables_plots_and_leaderboards_state_the_policy(run: Run) -> None:
    plain, zero, common = (
        score(run, resamples=100),
        score(run, resamples=100, missing="zero"),
        score(run, resamples=100, common=True),
    )
    for card, words in (
        (plain, "judge j, 4 samples"),
        (zero, "judge j, 4 samples, missing edits counted as failed"),
        (common, "judge j, 2 of 4 samples, those that all 2 models have a score for"),
    ):
        assert f"{words}; S =" in sentences.basis_sentence(card, run.manifest, 100)
        assert f"{words}." in plots.describe_basis(card, run.manifest)
    assert leaderboard_json(zero, run.manifest)["missing"] == "zero"
    assert leaderboard_json(common, run.manifest)["common_of"] == 4
    found = missing_edits.missing_json(missing_edits.missing_from_table(run, common.table), common.table)
    assert found == {
        "missing": "exclude",
        "common_of": 4,
        "missing_edits": {
            "A": {"refused": [{"reason": "content filter: no", "edits": 1}]},
            "B": {"absent": [{"reason": "", "edits": 1}]},
        },
    }


def test_impossible_edits_are_listed_and_not_counted(tmp_path: Path) -> None:
    answers = {"A": {"s1": "++++", "s2": EditStatus.IMPOSSIBLE, "s3": EditStatus.ABSENT}}
    with open_run(written.write(tmp_path, answers, DIMENSIONS)) as run:
        table = score(run, resamples=100, missing="zero").table
        found = missing_edits.missing_from_table(run, table)
        grid = run_facts.missing_images_table(run, ["A"], list(answers["A"]))
    reason = "in the benchmark, s.png does not exist"
    assert missing_edits.missing_sentences(found) == [f"A has 2 missing edits: 1 impossible ({reason}); 1 absent."]
    assert missing_edits.missing_policy_sentences(table, found) == [
        "Edits that are absent count as failed: 0 in IF, VC and VQ.",
        "Edits that are impossible are left out of the scores.",
    ]
    assert grid is not None
    wanted = {row[0]: row[1] for row in grid.rows}
    assert wanted == {"edits of A": "2"}, "the impossible edit is not expected"
