"""Review decisions are written into the benchmark's files at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.building.creval.review import CrevalReview
from creval.building.review.base import ACCEPTED, DROPPED, OPEN, Review
from creval.core.errors import CrevalError
from tests.building.creval.test_pipeline import build
from tests.building.made import TOLD, Model, drawn


@pytest.fixture
def review(tmp_path: Path) -> CrevalReview:
    drawn(tmp_path / "pictures", "cat", "dog")
    build(tmp_path, Model())
    return CrevalReview(tmp_path / "bench")


def test_every_item_with_its_fields(review: CrevalReview) -> None:
    shown: Review = review
    assert shown.groups() == ["cat", "dog"]
    group = shown.group("cat")
    assert [path.is_file() for path in group.images.values()] == [True]
    assert [item.id for item in group.items][:2] == ["instruction", "IF/Q1"]
    assert len(group.items) == 16
    assert shown.count_undecided() == 32
    weights = [field for item in group.items for field in item.fields if field.name == "weight"]
    assert len(weights) == 5
    assert weights[0].choices == ("1", "2", "3")
    assert group.items[1].facts["prompt"].startswith("creval_if@")


def test_accept_edit_drop_and_take_back(review: CrevalReview) -> None:
    review.decide("cat", "IF/Q2", ACCEPTED, {"question": "Is it  a lamp?", "answer": "No"})
    review.decide("cat", "VC/Q1", ACCEPTED, {"weight": "3"})
    review.decide("cat", "IF/Q3", DROPPED, {})
    items = {item.id: item for item in review.group("cat").items}
    assert [field.text for field in items["IF/Q2"].fields] == ["Is it a lamp?", "No"]
    assert (items["IF/Q2"].verdict, items["IF/Q3"].verdict) == (ACCEPTED, DROPPED)
    assert review.count_undecided() == 29
    sample = open_benchmark(review.folder).dataset.samples[0]
    mine = [question for question in sample.questions if question.metric == "IF"]
    assert [question.label for question in mine] == ["Q1", "Q2", "Q4", "Q5"]
    assert mine[1].reference == "No"
    review.decide("cat", "IF/Q3", OPEN, {})
    assert len(open_benchmark(review.folder).dataset.samples[0].questions) == 15
    assert "dropped" not in (review.folder / "questions_all/IF/cat.json").read_text()


def test_dropped_items_keep_their_position(review: CrevalReview) -> None:
    before = [item.id for item in review.group("cat").items]
    review.decide("cat", "IF/Q1", DROPPED, {})
    review.decide("cat", "VC/Q3", DROPPED, {})
    items = review.group("cat").items
    assert [item.id for item in items] == before
    assert [item.id for item in items if item.verdict == DROPPED] == ["IF/Q1", "VC/Q3"]


def notes(review: CrevalReview, item: str) -> tuple[str, ...]:
    return next(one.notes for one in review.group("cat").items if one.id == item)


def test_too_few_questions_are_noted(review: CrevalReview) -> None:
    assert notes(review, "instruction") == ()
    assert not open_benchmark(review.folder).dataset.issues
    for name in ("IF/Q1", "IF/Q4"):
        review.decide("cat", name, DROPPED, {})
    assert notes(review, "instruction") == ("IF has 3 of at least 5 questions",)
    (found,) = open_benchmark(review.folder).dataset.issues
    assert (found.rule, found.location, found.original) == ("few questions", "IF/cat", "3")
    assert not found.is_repaired


def test_questions_on_a_changed_instruction_have_a_note(review: CrevalReview) -> None:
    review.decide("cat", "IF/Q1", ACCEPTED, {})
    review.decide("cat", "IF/Q3", DROPPED, {})
    review.decide("cat", "instruction", ACCEPTED, {"instruction": f"{TOLD}  "})
    assert notes(review, "IF/Q1") == (), "the text is the same"
    review.decide("cat", "instruction", ACCEPTED, {"instruction": "Paint the cat  blue."})
    older = ("the instruction was changed afterwards",)
    assert review.group("cat").items[0].facts["previous text"] == TOLD
    assert notes(review, "IF/Q1") == notes(review, "VC/Q2") == older
    assert notes(review, "IF/Q3") == ()
    review.decide("cat", "IF/Q1", ACCEPTED, {})
    assert (notes(review, "IF/Q1"), notes(review, "VC/Q2")) == ((), older)
    review.decide("cat", "instruction", ACCEPTED, {"instruction": "Paint the cat red."})
    assert notes(review, "IF/Q1") == older, "it was accepted for another text"
    review.decide("cat", "IF/Q1", OPEN, {})
    assert notes(review, "IF/Q1") == older
    review.decide("cat", "instruction", OPEN, {"instruction": TOLD})
    assert notes(review, "IF/Q1") == notes(review, "VC/Q2") == ()
    assert "asked_for" not in (review.folder / "instruction.json").read_text()


def test_an_image_from_elsewhere_is_not_shown(review: CrevalReview) -> None:
    listed = review.folder / "instruction.json"
    listed.write_text(listed.read_text().replace("image/cat.png", "../pictures/cat.png"))
    assert review.group("cat").images == {}
    review.decide("cat", "IF/Q1", ACCEPTED, {})


def test_a_sample_is_dropped_with_all_its_questions(review: CrevalReview) -> None:
    review.decide("cat", "instruction", DROPPED, {"instruction": "Other words."})
    dataset = open_benchmark(review.folder).dataset
    assert [sample.id for sample in dataset.samples] == ["dog"]
    assert not dataset.issues
    assert review.groups() == ["cat", "dog"]
    assert review.group("cat").items[0].verdict == DROPPED
    review.decide("cat", "instruction", ACCEPTED, {"dimension": "Commercial Design"})
    cat, _ = open_benchmark(review.folder).dataset.samples
    assert (cat.instruction, cat.tags["dimension"]) == ("Other words.", "Commercial Design")
    assert not open_benchmark(review.folder).dataset.issues
    assert json.loads((review.folder / "dropped" / "instruction.json").read_text()) == []


@pytest.mark.parametrize(
    ("item", "verdict", "fields", "sentence"),
    [
        ("IF/Q1", "maybe", {}, "no verdict"),
        ("IF/Q9", ACCEPTED, {}, "no question IF/Q9"),
        ("XX/Q1", ACCEPTED, {}, "no metric"),
        ("IF/Q1", ACCEPTED, {"question": " "}, "cannot be empty"),
        ("IF/Q1", ACCEPTED, {"answer": "Maybe"}, "no answer"),
        ("VC/Q1", ACCEPTED, {"weight": "4"}, "no weight"),
        ("instruction", ACCEPTED, {"instruction": ""}, "cannot be empty"),
        ("instruction", ACCEPTED, {"dimension": "Fun"}, "no dimension"),
    ],
)
def test_invalid_decisions_are_refused(
    review: CrevalReview, item: str, verdict: str, fields: dict[str, str], sentence: str
) -> None:
    with pytest.raises(CrevalError, match=sentence):
        review.decide("cat", item, verdict, fields)


def test_another_sample_is_refused(review: CrevalReview) -> None:
    with pytest.raises(CrevalError, match="no sample 'cow'"):
        review.decide("cow", "IF/Q1", ACCEPTED, {})


def test_the_last_question_stays(review: CrevalReview) -> None:
    for number in range(1, 5):
        review.decide("cat", f"VQ/Q{number}", DROPPED, {})
    with pytest.raises(CrevalError, match="cannot be dropped"):
        review.decide("cat", "VQ/Q5", DROPPED, {})


def test_unchanged_fields_keep_their_exact_text(review: CrevalReview) -> None:
    paths = [review.folder / "instruction.json", review.folder / "questions_all/IF/cat.json"]
    for path in paths:
        path.write_text(path.read_text().replace(" ", "  "))
    for item in review.group("cat").items[:2]:
        fields = {field.name: field.text for field in item.fields}
        review.decide("cat", item.id, ACCEPTED, fields)
        again = next(one for one in review.group("cat").items if one.id == item.id)
        assert (again.fields, again.verdict) == (item.fields, ACCEPTED)
    assert "asked_for" not in paths[0].read_text()
    review.decide("cat", "instruction", ACCEPTED, {"instruction": "Make it a  lamp."})
    assert "Make it a lamp." in paths[0].read_text()


def test_a_question_can_be_added(review: CrevalReview) -> None:
    group = review.group("cat")
    assert [field.name for field in group.new_item] == ["metric", "question", "answer", "weight"]
    assert group.instruction == group.items[0].fields[0].text
    review.decide("cat", "VC/Q5", DROPPED, {})
    fields = {"metric": "VC", "question": " Is the\ntail there? ", "answer": "No", "weight": "3"}
    assert review.add("cat", fields) == "VC/Q6", "numbers of dropped questions are not reused"
    assert review.add("cat", {**fields, "metric": "IF"}) == "IF/Q6"
    added = next(item for item in review.group("cat").items if item.id == "VC/Q6")
    assert ([field.text for field in added.fields], added.verdict) == (["Is the tail there?", "No", "3"], ACCEPTED)
    asked = {f"{q.metric}/{q.label}": q for q in open_benchmark(review.folder).dataset.samples[0].questions}
    assert (asked["VC/Q6"].text, asked["VC/Q6"].reference, asked["VC/Q6"].weight) == ("Is the tail there?", "No", 3.0)
    assert asked["IF/Q6"].weight == 1.0


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"metric": "IF", "question": " "}, "cannot be empty"),
        ({"metric": "XX", "question": "Is it?"}, "no metric 'XX'"),
        ({"metric": "IF", "question": "Is it?", "answer": "Maybe"}, "no answer 'Maybe'"),
    ],
)
def test_invalid_new_questions_are_refused(review: CrevalReview, fields: dict[str, str], why: str) -> None:
    before = (review.folder / "questions_all/IF/cat.json").read_bytes()
    with pytest.raises(CrevalError, match=why):
        review.add("cat", fields)
    assert (review.folder / "questions_all/IF/cat.json").read_bytes() == before
    review.decide("dog", "instruction", DROPPED, {})
    assert review.group("dog").new_item == ()
    with pytest.raises(CrevalError, match="Restore it before"):
        review.add("dog", {"metric": "IF", "question": "Is it?"})
