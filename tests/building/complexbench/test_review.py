from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.building.complexbench.files import instructions_file
from creval.building.complexbench.review import ComplexBenchReview
from creval.building.review.base import ACCEPTED, DROPPED, OPEN
from creval.core.errors import CrevalError
from creval.testing.fake_chat_server import FakeServer
from tests.building.chains_made import FITTING, annotated, complexbench
from tests.serving import serving

LAST = "three-chain/2"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    annotated(folder, FITTING[:2])
    with serving(FakeServer(seed=3).app()) as url:
        levels = ("parallel", "three-chain")
        wrote = complexbench(folder, folder / "bench", url, levels=levels).run()
    assert len(wrote.results) == 4
    return folder / "bench"


@pytest.fixture
def built(made: Path, tmp_path: Path) -> Path:
    """Return a copy of a benchmark of four samples, for writing."""
    return Path(shutil.copytree(made, tmp_path / "bench"))


def test_a_sample_is_a_group_and_a_step_an_item(built: Path) -> None:
    review = ComplexBenchReview(built)
    assert (len(review.groups()), review.count_undecided()) == (4, 12)
    assert review.groups()[-1] == LAST
    group = review.group(LAST)
    assert [path.is_file() for path in group.images.values()] == [True]
    assert [item.id for item in group.items] == ["step/1", "step/2", "step/3"]
    kinds = ["step 1", "step 2, depends on step 1", "step 3, depends on step 2"]
    assert [item.kind for item in group.items] == kinds
    assert not any(item.notes for item in group.items), "a chain is no reason for a note"
    assert [field.name for field in group.items[0].fields] == ["instruction", "type"]


def test_a_step_is_accepted_and_changed(built: Path) -> None:
    review = ComplexBenchReview(built)
    fields = {"instruction": "Add a  red hat.", "type": "add object"}
    review.decide(LAST, "step/1", ACCEPTED, fields)
    again = ComplexBenchReview(built)
    assert again.count_undecided() == 11
    item = again.group(LAST).items[0]
    assert (item.verdict, item.fields[0].text) == (ACCEPTED, "Add a red hat.")
    (sample,) = (s for s in open_benchmark(built).dataset.samples if s.id.endswith(LAST))
    assert (sample.steps[0].text, sample.steps[0].kind) == ("Add a red hat.", "add object")


def test_a_step_that_is_dropped_takes_its_sample_with_it(built: Path) -> None:
    review = ComplexBenchReview(built)
    review.decide(LAST, "step/3", DROPPED, {})
    assert ComplexBenchReview(built).group(LAST).items[2].verdict == DROPPED
    assert len(open_benchmark(built).dataset.samples) == 3
    for verdict in (OPEN, ACCEPTED):
        review.decide(LAST, "step/3", verdict, {})
        assert len(open_benchmark(built).dataset.samples) == 4
    assert open_benchmark(built).dataset.issues == ()


@pytest.mark.parametrize(
    ("item", "verdict", "fields"),
    [
        ("step/4", ACCEPTED, {}),
        ("step", ACCEPTED, {}),
        ("step/1", "perhaps", {}),
        ("step/1", ACCEPTED, {"type": "paint"}),
        ("step/1", ACCEPTED, {"instruction": ""}),
        ("step/1", ACCEPTED, {"instruction": "the the the the"}),
    ],
)
def test_invalid_decisions_are_refused_without_changes(
    built: Path, item: str, verdict: str, fields: dict[str, str]
) -> None:
    review = ComplexBenchReview(built)
    before = instructions_file(built, "three-chain").read_bytes()
    with pytest.raises(CrevalError):
        review.decide(LAST, item, verdict, fields)
    assert instructions_file(built, "three-chain").read_bytes() == before
    assert review.count_undecided() == 12
    with pytest.raises(CrevalError, match="no sample"):
        review.group("three-chain/none")


def test_changes_during_a_review_are_kept(built: Path) -> None:
    review = ComplexBenchReview(built)
    review.decide(LAST, "step/1", ACCEPTED, {"instruction": "Add a red hat."})
    path = instructions_file(built, "three-chain")
    path.write_text(path.read_text().replace("Add a red hat.", "Add a blue hat."))
    review.decide(LAST, "step/3", ACCEPTED, {})
    assert review.group(LAST).items[0].fields[0].text == "Add a blue hat."


def test_changed_steps_reopen_their_dependents(built: Path) -> None:
    review = ComplexBenchReview(built)
    for at in (1, 2, 3):
        review.decide(LAST, f"step/{at}", ACCEPTED, {})
    first, second, _ = review.group(LAST).items
    review.decide(LAST, first.id, ACCEPTED, {"instruction": first.fields[0].text})
    assert [item.verdict for item in review.group(LAST).items] == [ACCEPTED] * 3
    review.decide(LAST, first.id, ACCEPTED, {"instruction": "Add a tin drum."})
    items = review.group(LAST).items
    assert [item.verdict for item in items] == [ACCEPTED, OPEN, ACCEPTED]
    why = "it depends on step 1, which was changed afterwards"
    assert [item.notes for item in items] == [(), (why,), ()]
    review.decide(LAST, "step/2", ACCEPTED, {"instruction": second.fields[0].text})
    assert [item.notes for item in review.group(LAST).items] == [()] * 3
    assert open_benchmark(built).dataset.issues == ()


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"edit pair": [1, 2, 3]},
        {"edit pair": [{}], "new_ins": "a"},
        {"edit pair": [{}, {}, {}], "new_ins": "a\nb"},
    ],
)
def test_broken_entries_are_not_shown(built: Path, entry: object) -> None:
    path = instructions_file(built, "three-chain")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "odd": entry}))
    assert len(ComplexBenchReview(built).groups()) == 4
    path.unlink()
    assert len(ComplexBenchReview(built).groups()) == 2


def test_unchanged_fields_keep_their_exact_text(built: Path) -> None:
    path = instructions_file(built, "three-chain")
    content = json.loads(path.read_text())
    _, *others = content["2"]["new_ins"].splitlines()
    content["2"]["new_ins"] = "\n".join(["Add a  red hat.", *others])
    path.write_text(json.dumps(content))
    review = ComplexBenchReview(built)
    review.decide(LAST, "step/2", ACCEPTED, {})
    review.decide(LAST, "step/1", ACCEPTED, {"instruction": "Add a  red hat."})
    first, second, _ = review.group(LAST).items
    assert (first.fields[0].text, first.verdict) == ("Add a  red hat.", ACCEPTED)
    assert (second.verdict, second.notes) == (ACCEPTED, ())
