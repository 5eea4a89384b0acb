from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.ice_bench.tasks import TASKS
from creval.building.ice.builder import IceBuildOptions
from creval.building.ice.review import IceReview
from creval.building.review.base import ACCEPTED, DROPPED, OPEN
from creval.building.review.loader import open_review
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.building.ice.made import building, draw_task, entries
from tests.serving import serving

SWAP, COLOUR = "face-swap-a", "color-editing-a"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(FakeServer(seed=3).app()) as address:
        yield address


@pytest.fixture(scope="module")
def made(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for name in ("Face Swap", "Color Editing", "Text-to-Image Creating"):
        draw_task(folder / "in", TASKS[name])
    wrote = building(folder / "in", folder / "bench", url, IceBuildOptions(people_fill_in=True)).run()
    assert len(wrote.results) == 3
    return folder / "bench"


@pytest.fixture
def built(made: Path, tmp_path: Path) -> Path:
    """Return three items. Two of them have unfilled templates."""
    return Path(shutil.copytree(made, tmp_path / "bench"))


def test_an_item_is_a_group_with_all_its_images(built: Path) -> None:
    review = open_review(built)
    assert isinstance(review, IceReview)
    assert (len(review.groups()), review.count_undecided()) == (3, 6)
    group = review.group(SWAP)
    assert list(group.images) == ["source", "mask", "reference 1"]
    assert all(path.is_file() for path in group.images.values())
    assert [item.id for item in group.items] == ["Instruction", "SourceCaption", "TargetCaption"]
    assert group.items[0].facts["by"] == "template"
    assert "the reference" in group.items[0].facts["task"]
    what, *blanks = review.group(COLOUR).items[0].notes
    assert what == "the task: change the colour of something and nothing else"
    assert all(note.startswith("to fill in: ") for note in blanks)


def test_a_template_is_filled_in_on_the_page(built: Path) -> None:
    review = IceReview(built)
    with pytest.raises(CrevalError, match="is not filled in yet"):
        review.decide(COLOUR, "Instruction", ACCEPTED, {})
    with pytest.raises(CrevalError, match="there is no <REF_1>"):
        review.decide(COLOUR, "Instruction", OPEN, {"text": "Make <SOURCE> like <REF_1>."})
    assert review.group(COLOUR).items[0].notes, "a refused text is not stored"
    review.decide(COLOUR, "Instruction", ACCEPTED, {"text": "Make  the sky in <SOURCE> red."})
    (entry,) = (one for one in entries(built) if one["ItemID"] == COLOUR)
    assert entry["Instruction"] == "Make the sky in <SOURCE> red."
    assert entry["made"]["Instruction"] == {"by": "people", "review": "accepted"}
    assert IceReview(built).group(COLOUR).items[0].verdict == ACCEPTED


def test_missing_texts_are_no_items_to_decide(built: Path) -> None:
    review = IceReview(built)
    assert [item.id for item in review.group(COLOUR).items] == ["Instruction", "SourceCaption"]
    with pytest.raises(CrevalError, match="there is no text 'TargetCaption'"):
        review.decide(COLOUR, "TargetCaption", ACCEPTED, {})
    left = review.count_undecided()
    review.decide(COLOUR, "Instruction", ACCEPTED, {"text": "Make the sky in <SOURCE> red."})
    review.decide(COLOUR, "SourceCaption", ACCEPTED, {})
    assert review.count_undecided() == left - 2
    (note,) = review.group(COLOUR).items[0].notes
    assert note == "the description of an ideal edit is not written yet. Run creval build ice again."


def test_a_changed_instruction_outdates_the_description(built: Path, url: str) -> None:
    review = IceReview(built)
    review.decide(SWAP, "TargetCaption", ACCEPTED, {})
    review.decide(SWAP, "Instruction", OPEN, {"text": "Swap the faces of <SOURCE> and <REF_1>."})
    late = review.group(SWAP).items[2]
    assert (late.verdict, "changed afterwards" in late.notes[0]) == (OPEN, True)
    assert "build again" in late.notes[0]
    folder = built.parent / "in"
    draw_task(folder, TASKS["Face Swap"])
    building(folder, built, url, IceBuildOptions(people_fill_in=True)).run()
    assert not review.group(SWAP).items[2].notes
    review.decide(SWAP, "TargetCaption", OPEN, {"text": "A face that smiles at the viewer."})
    review.decide(SWAP, "Instruction", OPEN, {"text": "给 <SOURCE> 换脸。"})
    building(folder, built, url, IceBuildOptions(people_fill_in=True)).run()
    item = review.group(SWAP).items[2]
    assert item.fields[0].text == "A face that smiles at the viewer.", "people's text stays"
    assert item.notes == ("the instruction was changed afterwards: accept or change it",)
    assert "it does not name <REF_1>" in review.group(SWAP).items[0].notes


def test_accepted_texts_stay_attributed_to_people(built: Path, url: str) -> None:
    path, mine = built / "dataset" / "data.jsonl", "A face of my own words."
    (entry,) = (one for one in entries(built) if one["ItemID"] == SWAP)
    path.write_text(path.read_text().replace(entry["TargetCaption"], mine))
    IceReview(built).decide(SWAP, "TargetCaption", ACCEPTED, {})
    IceReview(built).decide(SWAP, "Instruction", OPEN, {"text": "Swap <SOURCE> and <REF_1>."})
    draw_task(built.parent / "in", TASKS["Face Swap"])
    building(built.parent / "in", built, url, IceBuildOptions(people_fill_in=True)).run()
    assert IceReview(built).group(SWAP).items[2].fields[0].text == mine


def test_a_dropped_text_drops_its_item(built: Path) -> None:
    review = IceReview(built)
    review.decide(SWAP, "TargetCaption", DROPPED, {})
    with pytest.raises(CrevalError, match="no usable item"):
        open_benchmark(built)
    assert [item.verdict for item in review.group(SWAP).items] == [DROPPED] * 3
    assert review.count_undecided() == 3
    review.decide(SWAP, "Instruction", ACCEPTED, {})
    assert [item.verdict for item in review.group(SWAP).items] == [ACCEPTED, OPEN, OPEN]
    assert len(open_benchmark(built).dataset.samples) == 1


def test_an_image_outside_is_not_shown(built: Path) -> None:
    path = built / "dataset" / "data.jsonl"
    text = path.read_text()
    (entry,) = (one for one in entries(built) if one["ItemID"] == COLOUR)
    path.write_text(text.replace(entry["SourceImage"], "../../../secret.png"))
    assert IceReview(built).group(COLOUR).images == {}


@pytest.mark.parametrize("spelt", ["{}", "dataset/{}", "./{}", "data/{}", "images\\..\\{}", " {} ", "../dataset/{}"])
def test_a_review_shows_the_images_that_are_used(spelt: str, built: Path) -> None:
    """The same rules apply to image names of items in all places."""
    found = entries(built)
    (entry,) = (one for one in found if one["ItemID"] == SWAP)
    for name in ("SourceImage", "SourceMask"):
        entry[name] = spelt.format(entry[name])
    entry["ReferenceImages"] = spelt.format(*entry["ReferenceImages"])
    path = built / "dataset" / "data.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in found))
    (sample,) = open_benchmark(built).dataset.samples
    shown = IceReview(built).group(SWAP).images
    assert list(shown) == ["source", "mask", "reference 1"]
    assert list(shown.values()) == [sample.source, sample.mask, *sample.references]
    assert all(path.is_file() for path in shown.values())


@pytest.mark.parametrize("name", ["../../a.png", "/etc/hostname"])
def test_images_outside_the_folder_are_neither_shown_nor_used(name: str, built: Path) -> None:
    (built.parent / "a.png").write_bytes(b"mine")
    found = entries(built)
    (entry,) = (one for one in found if one["ItemID"] == SWAP)
    entry["SourceImage"] = entry["SourceMask"] = name
    path = built / "dataset" / "data.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in found))
    assert list(IceReview(built).group(SWAP).images) == ["reference 1"]
    with pytest.raises(CrevalError, match="no usable item"):
        open_benchmark(built)


def test_a_release_is_not_written_into(built: Path) -> None:
    path = built / "dataset" / "data.jsonl"
    path.write_text('{"ItemID": "x", "Task": "Text2Image", "Instruction": "A cat."}\n')
    with pytest.raises(CrevalError, match="nothing to review"):
        open_review(built)


def test_unchanged_fields_keep_their_exact_text(built: Path) -> None:
    path = built / "dataset" / "data.jsonl"
    (before,) = (one for one in entries(built) if one["ItemID"] == SWAP)
    path.write_text(path.read_text().replace(before["Instruction"], "Swap <SOURCE>  and <REF_1>. "))
    review = IceReview(built)
    review.decide(SWAP, "TargetCaption", ACCEPTED, {})
    words = review.group(SWAP).items[0].fields[0].text
    for said in (words, "Swap <SOURCE> and <REF_1>."):
        review.decide(SWAP, "Instruction", ACCEPTED, {"text": said})
        (entry,) = (one for one in entries(built) if one["ItemID"] == SWAP)
        assert entry["Instruction"] == said
        assert (entry["made"]["Instruction"]["by"] == "people") == (said != words)
        verdict = review.group(SWAP).items[2].verdict
        assert verdict == (ACCEPTED if said == words else OPEN)
    review.decide(SWAP, "TargetCaption", ACCEPTED, {})
    review.decide(SWAP, "Instruction", ACCEPTED, {"text": f"{said} "})
    assert review.group(SWAP).items[2].verdict == ACCEPTED, "a space at the end is no change"
