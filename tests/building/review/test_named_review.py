"""Several reviewers of one benchmark: what each sees, what the benchmark gets, and how far they agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import creval
from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.creval.review import CrevalReview
from creval.building.ice.builder import IceBuildOptions
from creval.building.review.base import ACCEPTED, DROPPED, OPEN, Review
from creval.building.review.loader import open_review, open_votes
from creval.building.review.named_review import NamedReview
from creval.building.review.votes import VOTE_FILE, Votes, check_reviewer, compare_reviewers
from creval.core.errors import CrevalError
from creval.reporting.commands.review_output import reviewers_output
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.building.creval.test_pipeline import build
from tests.building.ice.made import building, draw_task
from tests.building.made import Model, drawn
from tests.building.review.test_loader import rows
from tests.commands import parsed, right, wrong
from tests.serving import serving


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    drawn(tmp_path / "pictures", "cat", "dog")
    build(tmp_path, Model())
    return tmp_path / "bench"


@pytest.fixture
def ice_bench(tmp_path: Path) -> Path:
    draw_task(tmp_path / "in", TASKS["Face Swap"])
    with serving(FakeServer(seed=3).app()) as url:
        building(tmp_path / "in", tmp_path / "ice", url, IceBuildOptions()).run()
    return tmp_path / "ice"


def verdict(review: Review, item: str, group: str = "cat") -> str:
    return next(one.verdict for one in review.group(group).items if one.id == item)


def notes(review: Review, item: str) -> tuple[str, ...]:
    return next(one.notes for one in review.group("cat").items if one.id == item)


def test_reviewers_do_not_see_each_others_verdicts(bench: Path) -> None:
    ann, ben = open_review(bench, "ann"), open_review(bench, "ben")
    ann.decide("cat", "IF/Q1", ACCEPTED, {})
    assert (verdict(ann, "IF/Q1"), verdict(ben, "IF/Q1")) == (ACCEPTED, OPEN)
    assert (ann.count_undecided(), ben.count_undecided()) == (31, 32)
    assert verdict(CrevalReview(bench), "IF/Q1") == ACCEPTED, "the benchmark has the only verdict"


def test_the_benchmark_gets_what_all_agree_on(bench: Path) -> None:
    ann, ben, shared = open_review(bench, "ann"), open_review(bench, "ben"), CrevalReview(bench)
    for item, one, two, agreed in [
        ("IF/Q1", ACCEPTED, ACCEPTED, ACCEPTED),
        ("IF/Q2", DROPPED, DROPPED, DROPPED),
        ("IF/Q3", ACCEPTED, DROPPED, OPEN),
        ("VC/Q1", DROPPED, ACCEPTED, OPEN),
    ]:
        ann.decide("cat", item, one, {})
        ben.decide("cat", item, two, {})
        assert verdict(shared, item) == agreed
        assert (verdict(ann, item), verdict(ben, item)) == (one, two)
    ben.decide("cat", "IF/Q3", OPEN, {})
    assert verdict(shared, "IF/Q3") == ACCEPTED, "only ann's verdict is left"


def test_a_decision_without_a_name_is_final(bench: Path) -> None:
    ann, ben = open_review(bench, "ann"), open_review(bench, "ben")
    ann.decide("cat", "IF/Q1", ACCEPTED, {})
    ben.decide("cat", "IF/Q1", DROPPED, {})
    judge = open_review(bench)
    assert notes(judge, "IF/Q1") == ("the reviewers disagree: ann accepted, ben dropped",)
    assert notes(ann, "IF/Q1") == ()
    judge.decide("cat", "IF/Q1", DROPPED, {})
    assert notes(judge, "IF/Q1") == ()
    ann.decide("cat", "IF/Q1", ACCEPTED, {})
    assert verdict(CrevalReview(bench), "IF/Q1") == DROPPED
    assert verdict(ann, "IF/Q1") == ACCEPTED


def test_a_verdict_counts_for_the_text_that_was_seen(bench: Path) -> None:
    ann, ben = open_review(bench, "ann"), open_review(bench, "ben")
    ann.decide("cat", "IF/Q1", ACCEPTED, {})
    ben.decide("cat", "IF/Q1", ACCEPTED, {"question": "Is there a lamp?"})
    assert (verdict(ann, "IF/Q1"), verdict(ben, "IF/Q1")) == (OPEN, ACCEPTED)
    assert compare_reviewers(open_votes(bench)).other_text == 1
    added = ben.add("cat", {"metric": "IF", "question": "Is it green?", "answer": "Yes", "weight": "1"})
    assert (verdict(ann, added), verdict(ben, added)) == (OPEN, ACCEPTED)


def test_a_refused_decision_leaves_no_vote(bench: Path) -> None:
    ann = open_review(bench, "ann")
    with pytest.raises(CrevalError, match="cannot be empty"):
        ann.decide("cat", "IF/Q1", ACCEPTED, {"question": " "})
    assert not (bench / VOTE_FILE).exists()
    assert isinstance(open_review(bench), CrevalReview)
    ann.decide("cat", "IF/Q1", ACCEPTED, {})
    assert isinstance(open_review(bench), NamedReview)


def test_agreement_and_disagreements(bench: Path) -> None:
    ann, ben = open_review(bench, "ann"), open_review(bench, "ben")
    items = [f"{metric}/Q{n}" for metric in ("IF", "VC") for n in range(1, 6)]
    said = dict(zip(items, ["AA", "AA", "AA", "AA", "AA", "AA", "DD", "AD", "DA", "DA"], strict=True))
    # Ann accepts 6 + 1 = 7 and ben 6 + 2 = 8 of ten, so chance is 0.7 * 0.8 + 0.3 * 0.2 = 0.62.
    for item, both in said.items():
        for review, letter in zip((ann, ben), both, strict=True):
            review.decide("cat", item, ACCEPTED if letter == "A" else DROPPED, {})
    found = compare_reviewers(open_votes(bench))
    assert found.counts == {"ann": 10, "ben": 10}
    assert [one.item for one in found.disagreements] == ["VC/Q3", "VC/Q4", "VC/Q5"]
    (question,) = (one for one in reviewers_output(found).data["agreement"] if one["kind"] == "question")
    assert question["percent"] == pytest.approx(70)
    assert question["kappa"] == pytest.approx((0.7 - 0.62) / 0.38)
    assert question["kappa_ends"] == (None, None), "both verdicts are about one group"
    open_review(bench, "cy").decide("cat", "IF/Q1", DROPPED, {})
    assert reviewers_output(compare_reviewers(open_votes(bench))).tables[0].headers[3] == "Fleiss' kappa"


def test_the_command_prints_them(bench: Path) -> None:
    open_review(bench, "ann").decide("cat", "IF/Q1", ACCEPTED, {})
    assert "has only ann. Use creval review --as NAME." in wrong("review", bench, "--agreement")
    open_review(bench, "ben").decide("cat", "IF/Q1", DROPPED, {})
    printed = " ".join(right("review", bench, "--agreement").split())
    assert "ann (1) and ben (1) decided 1 item together, and differ in 1." in printed
    assert "ann accepted, ben dropped" in printed
    assert creval.review_agreement(bench).frame().height == 1
    (one,) = parsed("review", bench, "--agreement")["disagreements"]
    assert one == {"group": "cat", "item": "IF/Q1", "verdicts": {"ann": "accepted", "ben": "dropped"}}


def test_names_and_files_are_checked(bench: Path) -> None:
    for name in ("", " ", "x" * 61, "a\nb", "\x1b[31m"):
        with pytest.raises(CrevalError, match="1 to 60 printable"):
            check_reviewer(name)
    open_review(bench, "ann").decide("cat", "IF/Q1", ACCEPTED, {})
    path = bench / VOTE_FILE
    vote = json.loads(path.read_text())
    path.write_text(json.dumps({**vote, "verdict": "perhaps"}))
    with pytest.raises(CrevalError, match=r"reviews\.jsonl, line 1, is not a vote"):
        _ = Votes(bench).by_item


def test_each_reviewer_has_one_column(bench: Path) -> None:
    for name, item in (("ann", "IF/Q1"), ("ben", "IF/Q2"), ("ben", "IF/Q1")):
        open_review(bench, name).decide("dog", item, ACCEPTED, {})
    table = compare_reviewers(open_votes(bench)).table
    assert table.voices == ("ann", "ben")
    assert np.array_equal(table.values, np.array([[1, 1], [np.nan, 1]]), equal_nan=True)


def test_two_reviewers_of_every_kind_of_benchmark(tmp_path: Path, ice_bench: Path) -> None:
    """One accepts and one drops: the item is open again, nothing is lost, and the final decision holds."""
    steps = write_release(tmp_path / "steps")
    for path in steps.glob("data/instructions/*/*.json"):
        entries = json.loads(path.read_text())
        path.write_text(json.dumps({key: {**one, "made": {}} for key, one in entries.items()}))
    for folder in (rows(tmp_path / "rows"), steps, ice_bench):
        before = len(open_benchmark(folder).dataset.samples)
        ann, ben = open_review(folder, "ann"), open_review(folder, "ben")
        group = ann.groups()[0]
        item = ann.group(group).items[0].id
        ben.decide(group, item, DROPPED, {})
        ann.decide(group, item, ACCEPTED, {})
        assert (verdict(ann, item, group), verdict(ben, item, group)) == (ACCEPTED, DROPPED)
        judge = open_review(folder)
        assert verdict(judge, item, group) == OPEN
        assert len(open_benchmark(folder).dataset.samples) == before
        judge.decide(group, item, ACCEPTED, {})
        assert verdict(open_review(folder), item, group) == ACCEPTED
        assert [one.item for one in compare_reviewers(open_votes(folder)).disagreements] == [item]
