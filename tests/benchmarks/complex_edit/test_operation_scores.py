"""Scores by operation and by category of operation: those of the samples of C1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.complex_edit.protocol import ComplexEdit, ComplexEditProbability
from creval.calls.settings import Settings
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import Score, SubScore
from creval.judging.judge_run import judge
from creval.store import open_run
from creval.store.lookup import RunLookup
from creval.testing.fake_chat_server import FakeServer
from creval.web.viewer.filters import Filters, filter_items
from creval.web.viewer.snapshot import take_snapshot
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complex_edit.test_protocol import write_edits
from tests.serving import serving

FIRST = ("Add Text", "Zoom In/Out", "**add text**", "Remove Text", "Add Text", "Paint It")
"""The first operation of each image."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of two models at C1 and C2."""
    folder = tmp_path_factory.mktemp("operations")
    rows = [row(number, 2) for number in range(len(FIRST))]
    for entry, name in zip(rows, FIRST, strict=True):
        entry["edit"]["sequence"][0]["name"] = name
    benchmark = open_benchmark(write_parquet(folder / "bench", test_real=rows))
    paths = [f"C{c}/{number}.png" for c in (1, 2) for number in range(len(FIRST))]
    edits = [write_edits(folder / name, *paths) for name in ("A", "B")]
    with serving(FakeServer().app()) as url:
        judge(benchmark, edits, f"openai:m@{url}/v1", folder / "run", Settings())
    return folder / "run"


def sample(*kinds: str) -> Sample:
    return Sample("s", "Do it.", Path("s.png"), {}, steps=tuple(InstructionStep("Do it.", kind) for kind in kinds))


@pytest.mark.parametrize("protocol", [ComplexEdit(), ComplexEditProbability()])
def test_one_operation_has_the_scores_of_its_sample(protocol: ComplexEdit) -> None:
    one = sample("Change Pose")
    values = {"IF": 0.5, "IP": 1.0, "PQ": None}
    factor = protocol.multiplier
    scores = {"IF": Score(0.5 * factor, 1, 1), "IP": Score(factor, 1, 1), "PQ": Score(None, 0, 1)}
    found = protocol.sub_scores(one, protocol.probes(one), values)
    assert found["operation"] == [SubScore("Change Pose", name, of) for name, of in scores.items()]
    assert [part.group for part in found["operation_category"]] == ["Pose and Expression"] * 3


@pytest.mark.parametrize("kinds", [(), ("Add Text", "Add Text"), ("Paint It",), ("",)])
def test_other_samples_belong_to_no_operation(kinds: tuple[str, ...]) -> None:
    protocol = ComplexEdit()
    assert protocol.sub_scores(sample(*kinds), protocol.probes(sample(*kinds)), {}) == {}


def test_an_operations_score_is_the_mean_of_its_samples_at_c1(run: Path) -> None:
    members = {"Add Text": (0, 2, 4), "Zoom In/Out": (1,), "Remove Text": (3,), "Text and Symbols": (0, 2, 3, 4)}
    with open_run(run) as opened:
        card = score(opened, resamples=50)
        values = {(key.model, key.sample): found for key, found in opened.values_by_edit()}
        for model in ("A", "B"):
            for group, numbers in members.items():
                for metric in ("IF", "IP", "PQ"):
                    given = [values[model, f"test_real/C1/{n:04d}"][metric] or 0.0 for n in numbers]
                    cell = card.cell(model, metric, group)
                    assert cell.value == pytest.approx(mean(given))
                    assert (cell.scored, cell.total) == (len(numbers), len(numbers))
        assert card.groups("operation") == ("Add Text", "Remove Text", "Zoom In/Out")
        assert card.groups("operation_category") == ("Text and Symbols", "Composition and Cropping")
        gap = compare(opened, "A", "B", resamples=50).differences["operation", "Add Text", "O"]
        ends = [card.cell(model, "O", "Add Text").value or 0.0 for model in ("A", "B")]
        assert gap.value == pytest.approx(ends[0] - ends[1])
        assert gap.samples == 3


def test_if_all_of_c1_have_one_operation_its_cells_are_those_of_c1(tmp_path: Path) -> None:
    rows = [row(number, 2) for number in range(8)]
    benchmark = open_benchmark(write_parquet(tmp_path / "bench", test_real=rows))
    edits = write_edits(tmp_path / "A", *(f"C{c}/{number}.png" for c in (1, 2) for number in range(8)))
    with serving(FakeServer().app()) as url:
        judge(benchmark, [edits], f"openai:m@{url}/v1", tmp_path / "run", Settings())
    with open_run(tmp_path / "run") as opened:
        card = score(opened, resamples=200)
    for column in ("IF", "IP", "PQ", "O"):
        at_c1 = card.cell("A", column, "C1")
        assert at_c1.low is not None
        assert card.cell("A", column, "Add an Object") == at_c1
        assert card.cell("A", column, "Object Manipulation and Transformation") == at_c1


def test_without_c1_there_are_no_operations(tmp_path: Path) -> None:
    benchmark = open_benchmark(write_parquet(tmp_path / "bench", test_real=[row(number, 2) for number in range(3)]))
    edits = write_edits(tmp_path / "A", "C2/0.png", "C2/1.png")
    with serving(FakeServer().app()) as url:
        judge(benchmark, [edits], f"openai:m@{url}/v1", tmp_path / "run", Settings(groups=("C2",)))
    with open_run(tmp_path / "run") as opened:
        card = score(opened, resamples=50)
    assert (card.groups("operation"), card.groups("operation_category")) == ((), ())
    assert card.cell("A", "O").value is not None


def test_the_viewer_filters_by_operation(run: Path) -> None:
    with RunLookup(run) as opened:
        snapshot = take_snapshot(opened)
    for group, number in (("operation:Add Text", 3), ("operation_category:Text and Symbols", 4)):
        found = filter_items(replace(Filters(), group=group), snapshot)
        assert {snapshot.items[at].sample.split("/")[1] for at in found} == {"C1"}
        assert len(found) == 3 * number, "IF, IP and PQ"
