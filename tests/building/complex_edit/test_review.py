from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.building.complex_edit.review import ComplexEditReview
from creval.building.review.base import ACCEPTED, DROPPED, OPEN
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import complex_edit, draw_images, rows
from tests.serving import serving


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    images = draw_images(folder / "images", 2)
    with serving(FakeServer(seed=4).app()) as url:
        wrote = complex_edit(images, folder / "bench", url, steps=4, retries=4).run()
    assert len(wrote.results) == 2
    return folder / "bench"


@pytest.fixture
def built(made: Path, tmp_path: Path) -> Path:
    """Return a copy of a benchmark of two images, for writing."""
    return Path(shutil.copytree(made, tmp_path / "bench"))


def samples(bench: Path) -> list[str]:
    return [sample.id for sample in open_benchmark(bench).dataset.samples]


def test_a_row_is_a_group_and_an_instruction_an_item(built: Path) -> None:
    review = ComplexEditReview(built)
    assert (list(review.groups()), review.count_undecided()) == (["0000", "0001"], 16)
    group = review.group("0001")
    assert group.heading == "p1.png"
    assert [path.is_file() for path in group.images.values()] == [True]
    assert [item.id for item in group.items][3:5] == ["atomic/4", "compound/1"]
    assert [field.name for field in group.items[0].fields] == ["instruction", "operation"]


def test_c1_is_the_first_atomic_edit_whichever_is_changed(built: Path) -> None:
    review = ComplexEditReview(built)
    for item, words in (("atomic/1", "Add a  red kite."), ("compound/1", "Add a blue kite.")):
        review.decide("0001", item, ACCEPTED, {"instruction": words})
        items = {item.id: item for item in ComplexEditReview(built).group("0001").items}
        told = [items[name].fields[0].text for name in ("atomic/1", "compound/1")]
        assert told == [" ".join(words.split())] * 2
    assert ComplexEditReview(built).count_undecided() == 14


def test_dropped_items_are_removed_and_can_be_restored(built: Path) -> None:
    review, before = ComplexEditReview(built), samples(built)
    review.decide("0001", "compound/4", DROPPED, {})
    assert set(before) - set(samples(built)) == {"built/C4/0001"}
    review.decide("0001", "compound/4", OPEN, {})
    review.decide("0001", "atomic/3", DROPPED, {})
    gone = {"built/C3/0001", "built/C4/0001"}
    assert set(before) - set(samples(built)) == gone, "with all compounds that contain it"
    review.decide("0001", "atomic/3", ACCEPTED, {"operation": "Add Text"})
    assert samples(built) == before
    assert rows(built)["0001.json"]["edit"]["sequence"][2]["name"] == "Add Text"
    assert open_benchmark(built).dataset.issues == ()


@pytest.mark.parametrize(
    ("item", "verdict", "fields"),
    [
        ("atomic/9", ACCEPTED, {}),
        ("atomic/0", ACCEPTED, {}),
        ("nothing", ACCEPTED, {}),
        ("atomic/1", "perhaps", {}),
        ("atomic/1", ACCEPTED, {"instruction": "x" * 50}),
        ("atomic/1", ACCEPTED, {"operation": "Paint"}),
    ],
)
def test_invalid_decisions_are_refused_without_changes(
    built: Path, item: str, verdict: str, fields: dict[str, str]
) -> None:
    before = rows(built)
    with pytest.raises(CrevalError):
        ComplexEditReview(built).decide("0001", item, verdict, fields)
    assert rows(built) == before


@pytest.mark.parametrize("broken", ["{", "[]", '{"image": "a", "edit": {"sequence": [1]}}', "1"])
def test_broken_rows_are_not_shown(built: Path, broken: str) -> None:
    (built / "built" / "1000.json").write_text(broken)
    review = ComplexEditReview(built)
    assert len(review.groups()) == 2
    (built / "built" / "0001.json").write_text(broken)
    with pytest.raises(CrevalError, match="no longer contains a row that creval can read"):
        review.group("0001")


def test_instructions_that_were_not_simplified_have_a_note(built: Path) -> None:
    path = built / "built" / "0001.json"
    text = path.read_text()
    mark = '"before": '
    path.write_text(text.replace(mark, f'"unsimplified": "not accepted", {mark}', 1))
    assert ComplexEditReview(built).group("0001").items[0].notes == ("not simplified: not accepted",)


def test_changed_steps_reopen_the_compounds_that_contain_them(built: Path) -> None:
    review = ComplexEditReview(built)
    for item in review.group("0001").items:
        review.decide("0001", item.id, ACCEPTED, {field.name: field.text for field in item.fields})
    assert {item.verdict for item in review.group("0001").items} == {ACCEPTED}
    review.decide("0001", "atomic/3", ACCEPTED, {"instruction": "Paint the moon green."})
    items = {item.id: item for item in review.group("0001").items}
    why = "it contains atomic instruction 3, which was changed afterwards"
    assert {name for name, item in items.items() if item.verdict == OPEN} == {"compound/3", "compound/4"}
    assert {item.notes for item in items.values()} == {(), (why,)}
    review.decide("0001", "compound/3", ACCEPTED, {})
    review.decide("0001", "compound/4", OPEN, {"instruction": "Paint the moon green, and more."})
    assert not any(item.notes for item in review.group("0001").items)
    review.decide("0001", "compound/1", ACCEPTED, {"instruction": "Paint the sun blue."})
    items = {item.id: item for item in review.group("0001").items}
    assert items["atomic/1"].fields[0].text == "Paint the sun blue."
    assert [name for name, item in items.items() if item.notes] == ["compound/2", "compound/3", "compound/4"]


def test_unchanged_fields_keep_their_exact_text(built: Path) -> None:
    path = built / "built" / "0001.json"
    content = json.loads(path.read_text())
    content["edit"]["sequence"][1]["instruction"] = "Add a  red kite."
    path.write_text(json.dumps(content))
    review = ComplexEditReview(built)
    review.decide("0001", "compound/3", ACCEPTED, {})
    review.decide("0001", "atomic/2", ACCEPTED, {"instruction": "Add a  red kite."})
    items = {item.id: item for item in review.group("0001").items}
    assert items["atomic/2"].fields[0].text == "Add a  red kite."
    assert (items["compound/3"].verdict, items["compound/3"].notes) == (ACCEPTED, ())
