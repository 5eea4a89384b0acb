"""Tests of Complex-Edit: formats of the dataset, questions, and the paper's tables."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from PIL import Image

from creval.analysis.comparison import compare
from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.benchmarks.complex_edit.protocol import ComplexEdit, ComplexEditProbability
from creval.calls.settings import Settings
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import OVERALL, Level
from creval.judging.judge_run import judge
from creval.judging.plan import batch_questions
from creval.stats.score_table import ScoreTable
from creval.stats.scorecard import AVERAGE_MODEL, Scorecard, build_scorecard
from creval.store import open_run
from creval.store.edit_folders import find_edits
from creval.testing.fake_chat_server import ChatQuery, FakeServer
from tests.benchmarks.complex_edit.release_files import row, write_parquet, write_saved
from tests.serving import serving

# The paper's Tables 5 to 8: IF, IP, PQ, O at C1 and at C8, and the differences.
TABLE_5 = {
    "UltraEdit": (7.13, 7.76, 7.45, 7.45, 6.56, 5.93, 7.29, 6.59, -0.57, -1.82, -0.16, -0.85),
    "OmniGen": (6.76, 8.69, 7.99, 7.82, 6.25, 6.42, 7.55, 6.74, -0.50, -2.27, -0.45, -1.07),
    "AnyEdit": (5.94, 8.50, 6.78, 7.07, 4.61, 8.15, 7.25, 5.67, -1.33, -0.34, 0.47, -1.40),
    "Imagen3": (7.67, 8.93, 7.90, 8.17, 7.56, 6.55, 7.68, 7.27, -0.11, -2.38, -0.22, -0.90),
    "SeedEdit": (9.31, 9.01, 8.71, 9.01, 8.50, 6.91, 8.74, 8.05, -0.81, -2.10, 0.02, -0.96),
    "GPT-Image-1": (9.80, 9.79, 9.25, 9.61, 9.61, 8.06, 9.39, 9.02, -0.18, -1.73, 0.14, -0.59),
    AVERAGE_MODEL: (7.77, 8.78, 8.02, 8.19, 6.68, 7.00, 7.98, 7.22, -1.08, -1.77, -0.03, -0.96),
}
TABLE_6 = {
    "UltraEdit": (7.82, 8.61, 9.02, 8.48, 6.51, 6.83, 8.72, 7.35, -1.30, -1.78, -0.30, -1.13),
    "OmniGen": (7.80, 9.34, 9.05, 8.73, 6.49, 7.47, 8.74, 7.57, -1.31, -1.87, -0.31, -1.16),
    "AnyEdit": (5.79, 9.17, 8.61, 7.86, 1.47, 8.73, 8.72, 6.31, -4.32, -0.44, 0.11, -1.55),
    "Imagen3": (8.27, 9.25, 8.86, 8.79, 7.97, 7.54, 8.88, 8.13, -0.30, -1.72, 0.03, -0.66),
    "SeedEdit": (9.33, 9.60, 9.29, 9.41, 8.25, 7.94, 9.20, 8.46, -1.08, -1.66, -0.10, -0.95),
    "GPT-Image-1": (9.82, 9.79, 9.55, 9.72, 9.42, 8.23, 9.58, 9.08, -0.41, -1.56, 0.03, -0.64),
    AVERAGE_MODEL: (8.14, 9.29, 9.06, 8.83, 6.69, 7.79, 8.97, 7.82, -1.45, -1.50, -0.09, -1.02),
}
TABLE_7 = {
    "UltraEdit": (6.63, 5.26, 5.94, 5.94, 5.25, 3.37, 4.98, 4.53, -1.38, -1.89, -0.96, -1.41),
    "OmniGen": (6.43, 7.44, 6.82, 6.90, 5.17, 4.35, 5.47, 5.00, -1.26, -3.09, -1.35, -1.90),
    "AnyEdit": (5.26, 7.31, 5.50, 6.02, 1.01, 7.81, 6.51, 5.11, -4.25, 0.51, 1.01, -0.91),
    "Imagen3": (7.25, 8.32, 7.71, 7.76, 6.70, 4.65, 6.53, 5.96, -0.55, -3.67, -1.18, -1.80),
    "SeedEdit": (9.17, 6.29, 7.96, 7.81, 7.67, 3.83, 7.69, 6.40, -1.50, -2.46, -0.27, -1.41),
    "GPT-Image-1": (9.78, 8.06, 9.10, 8.98, 9.45, 5.04, 9.25, 7.92, -0.33, -3.01, 0.15, -1.06),
    AVERAGE_MODEL: (7.42, 7.11, 7.17, 7.24, 5.88, 4.84, 6.74, 5.82, -1.54, -2.27, -0.43, -1.42),
}
TABLE_8 = {
    "UltraEdit": (7.31, 6.82, 8.50, 7.55, 4.97, 4.70, 7.69, 5.79, -2.34, -2.12, -0.81, -1.76),
    "OmniGen": (7.46, 8.68, 8.52, 8.22, 5.15, 6.19, 7.68, 6.34, -2.31, -2.48, -0.84, -1.88),
    "AnyEdit": (5.31, 8.68, 7.98, 7.32, 0.78, 8.83, 8.33, 5.98, -4.53, 0.15, 0.35, -1.34),
    "Imagen3": (7.64, 8.43, 8.49, 8.19, 7.11, 6.54, 8.37, 7.34, -0.53, -1.90, -0.12, -0.85),
    "SeedEdit": (9.05, 8.36, 8.96, 8.79, 6.97, 6.86, 8.63, 7.49, -2.08, -1.50, -0.33, -1.30),
    "GPT-Image-1": (9.69, 8.68, 9.40, 9.26, 9.09, 6.17, 9.54, 8.27, -0.60, -2.52, 0.15, -0.99),
    AVERAGE_MODEL: (7.74, 8.27, 8.64, 8.22, 5.68, 6.55, 8.37, 6.87, -2.07, -1.73, -0.27, -1.35),
}
# A published number and each of its components are within half a hundredth of the true value.
HALF = 0.005 + 1e-9
LEVELS = (
    OVERALL,
    Level("complexity", "complexity", tuple(f"C{n}" for n in range(1, 9))),
    Level("delta", "deltas", ("C8-C1",), difference_of=("complexity", "C8", "C1")),
)

Published = Mapping[str, Sequence[float]]


def card_of(published: Published) -> Scorecard:
    """Return the scorecard of models with one sample at C1 and one at C8."""
    models = tuple(name for name in published if name != AVERAGE_MODEL)
    values = np.array([[published[n][:3], published[n][4:7]] for n in models])
    total = np.ones(values.shape, dtype=np.int64)
    made = ScoreTable(
        schema=replace(ComplexEdit.schema, levels=LEVELS),
        models=models,
        samples=("C1/0", "C8/0"),
        groups={"complexity": np.array([0, 7])},
        values=values,
        scored=total,
        total=total,
        unanswered={},
        unasked={},
        clusters=np.array([0, 0]),
    )
    return build_scorecard(made, resamples=50, average=True)


def deviations(published: Published) -> dict[tuple[str, str, str], float]:
    """Return the cells of a table that do not follow from its IF, IP and PQ, with the differences."""
    card = card_of(published)
    found = {}
    for name, cells in published.items():
        for at, (group, column) in enumerate(
            (group, column) for group in ("C1", "C8", "C8-C1") for column in card.table.schema.columns
        ):
            value = card.cell(name, column, group).value
            assert value is not None
            slack = 3 * HALF if group == "C8-C1" else 2 * HALF
            if abs(value - cells[at]) > slack:
                found[name, group, column] = round(value - cells[at], 2)
    return found


@pytest.mark.parametrize("published", [TABLE_6, TABLE_7, TABLE_8])
def test_the_papers_tables_follow_from_their_own_cells(published: Published) -> None:
    assert deviations(published) == {}


def test_table_5_contradicts_itself_in_one_cell() -> None:
    assert deviations(TABLE_5) == {
        ("AnyEdit", "C8", "O"): 1.0,
        ("AnyEdit", "C8-C1", "O"): 1.0,
        (AVERAGE_MODEL, "C8", "IF"): 0.5,
        (AVERAGE_MODEL, "C8", "O"): 0.17,
        (AVERAGE_MODEL, "C8-C1", "IF"): 0.49,
        (AVERAGE_MODEL, "C8-C1", "O"): 0.16,
    }
    # Its O, the average row and Table 3 imply an IF of 1.60. Only its own delta contradicts that.
    mended: dict[str, Sequence[float]] = dict(TABLE_5)
    mended["AnyEdit"] = (*TABLE_5["AnyEdit"][:4], 1.60, *TABLE_5["AnyEdit"][5:])
    assert deviations(mended) == {("AnyEdit", "C8-C1", "IF"): -3.01}


def many(models: int = 2, images: int = 12) -> ScoreTable:
    """Return a table whose samples differ by image only: all complexities of an image have the same scores."""
    chance = np.random.default_rng(4)
    each = chance.uniform(2, 9, (models, images, 1, 3))
    values = np.repeat(each, 8, axis=2).reshape(models, -1, 3)
    total = np.ones(values.shape, dtype=np.int64)
    return ScoreTable(
        schema=replace(ComplexEdit.schema, levels=LEVELS),
        models=tuple("ABCDEF"[:models]),
        samples=tuple(f"C{c}/{n}" for n in range(images) for c in range(1, 9)),
        groups={"complexity": np.tile(np.arange(8), images)},
        values=values,
        scored=total,
        total=total,
        unanswered={},
        unasked={},
        clusters=np.repeat(np.arange(images), 8),
    )


def test_the_complexities_of_an_image_are_drawn_together() -> None:
    table = many()
    together = build_scorecard(table, resamples=800)
    apart = build_scorecard(replace(table, clusters=np.arange(table.values.shape[1])), resamples=800)

    def width(card: Scorecard, group: str) -> float:
        cell = card.cell("A", "IF", group)
        assert cell.low is not None
        assert cell.high is not None
        return cell.high - cell.low

    # Eight samples of one image are one observation, so the overall interval is as wide as that of C1 alone.
    assert width(together, "overall") == pytest.approx(width(together, "C1"), rel=0.01)
    assert width(apart, "overall") < 0.5 * width(together, "overall")
    # The two ends are equal in every resample, so their difference never varies.
    assert width(together, "C8-C1") == pytest.approx(0.0, abs=1e-9)
    assert width(apart, "C8-C1") > 1.0


def test_a_difference_rests_on_the_samples_of_both_ends() -> None:
    table = many()
    values, scored = table.values.copy(), table.scored.copy()
    c8 = table.groups["complexity"] == 7
    values[0, np.flatnonzero(c8)[4:]] = np.nan
    scored[0, np.flatnonzero(c8)[4:]] = 0
    card = build_scorecard(replace(table, values=values, scored=scored), resamples=50)
    cell = card.cell("A", "IF", "C8-C1")
    assert (cell.scored, cell.total) == (12 + 4, 24)
    assert cell.low is None, "four samples at C8 are too few for an interval"
    assert card.cell("B", "IF", "C8-C1").low is not None
    total = np.where(c8[None, :, None], 0, table.total)
    alone = build_scorecard(replace(table, values=values, scored=total, total=total), resamples=50)
    assert astuple(alone.cell("A", "IF", "C8-C1"))[3:] == (0, 0), "coverage needs both ends"


def test_scores_by_hand() -> None:
    sample = Sample("s", "Do it.", Path("s.png"))
    protocol = ComplexEdit()
    probes = protocol.probes(sample)
    assert [probe.id for probe in probes] == ["IF", "IP", "PQ"]
    scores = protocol.score(sample, probes, {"IF": 7.25, "IP": None, "PQ": 9.0})
    assert scores["IF"] == (7.25, 1, 1)
    assert scores["IP"] == (None, 0, 1)
    likely = ComplexEditProbability()
    assert likely.score(sample, likely.probes(sample), {"IF": 0.731})["IF"].value == 7.31


def test_two_are_rated_together_with_reasoning_and_one_alone_without() -> None:
    sample = Sample("s", "Do it.", Path("s.png"))
    first, second = batch_questions(ComplexEdit().probes(sample), "metric")
    assert [q.id for q in first] == ["IF", "IP"]
    assert {(q.form, q.shows) for q in first} == {("reasoned", ("source", "edit", "instruction"))}
    assert [(q.id, q.form, q.shows) for q in second] == [("PQ", "bare", ("edit",))]
    drawn = ComplexEdit().probes(Sample("s", "Draw it."))
    assert isinstance(drawn[0], Question)
    assert drawn[0].shows == ("edit", "instruction")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [row(number) for number in range(5)]
    return write_parquet(tmp_path / "Complex-Edit", test_real=rows, test_syn=rows[:2])


def test_parquet_and_saved_folders_hold_the_same(folder: Path, tmp_path: Path) -> None:
    rows = [row(number) for number in range(5)]
    saved = write_saved(tmp_path / "saved", test_real=rows, test_syn=rows[:2])
    first, second = (open_benchmark(path).dataset for path in (folder, saved))
    assert first.name == "complex-edit"
    assert [s.id for s in first.samples] == [s.id for s in second.samples]
    assert len(first.samples) == 3 * (5 + 2)
    assert {name: len(ids) for name, ids in first.subsets.items()} == {"test_real": 15, "test_syn": 6}
    sample = next(s for s in first.samples if s.id == "test_real/C2/0004")
    assert sample.instruction == "Do 2 things to 4."
    assert sample.steps == (
        InstructionStep("Step 1 of 4.", "Add an Object"),
        InstructionStep("Step 2 of 4.", "Change Color"),
    )
    assert sample.source is not None
    assert sample.source.read_bytes() == rows[4]["image"]["bytes"]
    assert [level.groups for level in first.levels[1:]] == [("C1", "C2", "C3"), ("C3-C1",)]
    one_split = open_benchmark(saved / "test_syn").dataset
    assert {s.tags["split"] for s in one_split.samples} == {"test_syn"}
    # The images are unpacked once.
    changed = sample.source.stat().st_mtime_ns
    again = open_benchmark(folder).dataset.samples
    source = next(s for s in again if s.id == "test_real/C2/0004").source
    assert source == sample.source
    assert source.stat().st_mtime_ns == changed


def test_oddities_are_reported(tmp_path: Path) -> None:
    rows = [row(number) for number in range(4)]
    rows[0]["image"] = {"bytes": None, "path": "../outside.png"}
    (tmp_path / "outside.png").write_bytes(rows[1]["image"]["bytes"])
    rows[1]["edit"]["compound"][1]["compound_instruction"] = "  "
    rows[2]["edit"]["sequence"] = rows[2]["edit"]["sequence"][:2]
    rows[3]["edit"]["compound"] = []
    folder = write_parquet(tmp_path / "odd", test_real=rows)
    dataset = open_benchmark(folder).dataset
    assert [(f.rule, f.location) for f in dataset.issues] == [
        ("no image", "test_real/0000"),
        ("no instruction", "test_real/C2/0001"),
        ("steps that do not match", "test_real/C3/0002"),
        ("no compound instruction", "test_real/0003"),
    ]
    assert [s.id.partition("/")[2] for s in dataset.samples] == ["C1/0001", "C3/0001", "C1/0002", "C2/0002"]


def test_records_of_lists_and_texts_are_read_too(tmp_path: Path) -> None:
    given = row(0)
    edit: dict[str, Any] = {
        name: {key: [entry[key] for entry in entries] for key in entries[0]} for name, entries in given["edit"].items()
    }
    lists = write_parquet(tmp_path / "lists", test_real=[{**given, "edit": edit}])
    text = json.dumps(given["edit"])
    texts = write_parquet(tmp_path / "texts", test_real=[{**given, "edit": text}])
    plain = write_parquet(tmp_path / "plain", test_real=[given])
    found = [open_benchmark(path).dataset.samples for path in (plain, lists, texts)]
    assert {tuple((s.id, s.instruction, s.steps) for s in samples) for samples in found} == {
        tuple((s.id, s.instruction, s.steps) for s in found[0])
    }


@pytest.mark.parametrize("broken", [b"", b"PAR1 and nothing else"])
def test_files_that_are_something_else(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "x.parquet").write_bytes(broken)
    with pytest.raises(CrevalError, match="not a benchmark that creval knows"):
        open_benchmark(tmp_path)
    polars.DataFrame({"image": ["a"], "prompt": ["b"]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(CrevalError, match="not a benchmark that creval knows"):
        open_benchmark(tmp_path)


def test_a_split_cannot_lead_out_of_the_cache(tmp_path: Path) -> None:
    saved = write_saved(tmp_path / "saved", test_real=[row(0), row(1)])
    (saved / "test_real" / "state.json").write_text(json.dumps({"_split": "../../escaped"}))
    assert {s.tags["split"] for s in open_benchmark(saved).dataset.samples} == {"test_real"}


def test_a_file_that_is_missing_or_left_over(folder: Path, tmp_path: Path) -> None:
    """Rows are numbered across files, so a missing file would assign edits to the wrong samples."""
    rows = [row(number) for number in range(4)]
    saved = write_saved(tmp_path / "saved", test_real=rows) / "test_real"
    names = [f"data-{at:05d}-of-00002.arrow" for at in (0, 1)]
    polars.DataFrame(rows).write_ipc_stream(saved / "data-00000-of-00001.arrow")
    with pytest.raises(CrevalError, match="different saves"):
        open_benchmark(saved)
    state = {"_split": "test_real", "_data_files": [{"filename": name} for name in names]}
    (saved / "state.json").write_text(json.dumps(state))
    assert len(open_benchmark(saved).dataset.samples) == 3 * 4
    (saved / names[0]).unlink()
    with pytest.raises(CrevalError, match=f"is incomplete: {names[0]} is missing"):
        open_benchmark(saved)
    file = next((folder / "data").glob("test_syn*"))
    file.rename(file.with_name("test_syn-00001-of-00003.parquet"))
    with pytest.raises(CrevalError, match="is incomplete: file 00000-of-00003 is missing"):
        open_benchmark(folder)
    file.with_name("test_syn-00001-of-00003.parquet").rename(file.with_name("test_syn-00000-of-99999999.parquet"))
    start = time.process_time()
    with pytest.raises(CrevalError, match="is incomplete: file 00001-of-99999999 is missing"):
        open_benchmark(folder)
    assert time.process_time() - start < 2, "the number in a file name must not cause a loop of that length"


def test_a_folder_name_with_pattern_characters(folder: Path) -> None:
    other = folder.rename(folder.with_name("Complex[1] *"))
    assert len(open_benchmark(other).dataset.samples) == 3 * (5 + 2)


def write_edits(folder: Path, *paths: str) -> Path:
    for number, path in enumerate(paths):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 24), (number, 40, 80)).save(folder / path)
    return folder


def test_a_folder_for_each_split_mode_and_complexity(folder: Path, tmp_path: Path) -> None:
    dataset = open_benchmark(folder).dataset
    edits = write_edits(
        tmp_path / "OmniGen",
        "test_real/direct/C1/0000.png",
        "real/sequential/C3/3.jpg",
        "syn/C2/0001--7.png",
        "elsewhere/C2/0001.png",
        "C1/0000.png",
    )
    found = find_edits([edits], dataset.samples, dataset.match_edit_file)
    assert found.models == ("OmniGen", "OmniGen+sequential")
    done = {edit.key: edit.image for edit in found.edits if edit.status is EditStatus.DONE}
    assert sorted(done) == [
        ("OmniGen", "test_real/C1/0000", 0),
        ("OmniGen", "test_syn/C2/0001", 7),
        ("OmniGen+sequential", "test_real/C3/0003", 0),
    ]
    # The split is ambiguous.
    assert {Path(name).parent.name for name in found.unmatched_files} == {"C1", "C2"}
    one = write_parquet(tmp_path / "one", test_real=[row(0)])
    dataset = open_benchmark(one).dataset
    found = find_edits([write_edits(tmp_path / "M", "C1/0.png")], dataset.samples, dataset.match_edit_file)
    assert ("M", "test_real/C1/0000", 0) in {edit.key for edit in found.edits if edit.status is EditStatus.DONE}


def test_judge_score_and_compare_by_complexity(folder: Path, tmp_path: Path) -> None:
    paths = [f"real/{mode}/C{c}/{n}.png" for mode in ("direct", "sequential") for c in (1, 2, 3) for n in range(5)]
    edits = write_edits(tmp_path / "OmniGen", *paths)
    benchmark = open_benchmark(folder)
    run = tmp_path / "run"
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:m@{url}/v1"
        judge(benchmark, [edits], spec, run, Settings(repeat=3, limit=15))
        # One call for IF and IP, one for PQ, each with three choices.
        assert server.stats["requests"] == 2 * 2 * 15
    with open_run(run) as opened:
        card = score(opened, subset="test_real", resamples=100, average=True)
        assert card.models == tuple(sorted(card.models, key=lambda n: -_of(card, n, "O")))
        for name in (*card.models, AVERAGE_MODEL):
            values = [_of(card, name, column, "C3") for column in ("IF", "IP", "PQ")]
            assert _of(card, name, "O", "C3") == pytest.approx(sum(values) / 3)
            delta = _of(card, name, "IF", "C3") - _of(card, name, "IF", "C1")
            assert _of(card, name, "IF", "C3-C1") == pytest.approx(delta)
        assert card.cell("OmniGen", "O", "C1").scored == 15
        found = compare(opened, "OmniGen", "OmniGen+sequential", subset="test_real", resamples=50)
        gap = found.differences["complexity", "C2", "PQ"]
        assert gap.value == pytest.approx(
            _of(card, "OmniGen", "PQ", "C2") - _of(card, "OmniGen+sequential", "PQ", "C2")
        )
        assert found.differences["delta", "C3-C1", "O"].samples == 5
        thirds = {3 * value % 1 for _, values in opened.values_by_edit() for value in values.values() if value}
        assert all(min(third, 1 - third) < 1e-9 for third in thirds), "each score is a mean of three"


def _of(card: Scorecard, name: str, column: str, group: str = "overall") -> float:
    value = card.cell(name, column, group).value
    assert value is not None
    return value


class Listening(FakeServer):
    """A server that keeps the text of each request."""

    def build_reply(self, body: Mapping[str, Any], query: ChatQuery) -> dict[str, Any]:
        texts.append(json.dumps(body))
        return super().build_reply(body, query)


texts: list[str] = []


def test_the_judge_can_be_shown_the_instruction_for_pq(folder: Path, tmp_path: Path) -> None:
    """Section 4.1.4 of the paper: PQ is rated without the instruction, and with it as an ablation."""
    edits = write_edits(tmp_path / "M", "real/C3/0.png")
    instruction = next(s.instruction for s in open_benchmark(folder).dataset.samples if s.tags["complexity"] == "C3")
    with serving(Listening().app()) as url:
        spec = f"openai:m@{url}/v1"
        for shown in (False, True):
            texts.clear()
            run = tmp_path / f"run-{shown}"
            judge(open_benchmark(folder), [edits], spec, run, Settings(show_instruction=shown, cache=False))
            quality = [text for text in texts if "Perceptual quality, from 10 to 0" in text]
            assert len(quality) == 1
            assert (json.dumps(instruction)[1:-1] in quality[0]) == shown
        with pytest.raises(CrevalError, match="show_instruction"):
            judge(open_benchmark(folder), [edits], spec, run, Settings())


def test_other_instructions_are_other_questions(folder: Path, tmp_path: Path) -> None:
    edits = write_edits(tmp_path / "M", *(f"real/C1/{n}.png" for n in range(5)))
    with serving(FakeServer().app()) as url:
        spec = f"openai:m@{url}/v1"
        judge(open_benchmark(folder), [edits], spec, tmp_path / "run", Settings(limit=2))
        rows = [row(number) for number in range(5)]
        rows[0]["edit"]["compound"][0]["compound_instruction"] = "Do something else."
        write_parquet(folder, test_real=rows)
        with pytest.raises(CrevalError, match="was judged with other questions"):
            judge(open_benchmark(folder), [edits], spec, tmp_path / "run", Settings(limit=2))
        with pytest.raises(CrevalError, match="`strict`: complex-edit has no strict scoring"):
            score(open_run(tmp_path / "run"), strict=True)


def test_a_file_that_is_damaged_gets_a_sentence(folder: Path) -> None:
    pointer = next((folder / "data").glob("test_real*"))
    whole = pointer.read_bytes()
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(CrevalError, match=f"{pointer.name} cannot be read"):
        open_benchmark(folder)
    pointer.write_bytes(whole)
    path = next((folder / "data").glob("test_syn*"))
    polars.read_parquet(path).drop("edit").write_parquet(path)
    with pytest.raises(CrevalError, match=f"{path.name} cannot be read"):
        open_benchmark(folder)
    path = next((folder / "data").glob("test_real*"))
    content = bytearray(path.read_bytes())
    content[40:400] = bytes(360)
    path.write_bytes(content)
    with pytest.raises(CrevalError, match=f"{path.name} cannot be read"):
        open_benchmark(folder)


def test_without_rubric_and_by_probability(folder: Path, tmp_path: Path) -> None:
    edits = write_edits(tmp_path / "M", *(f"real/C1/{n}.png" for n in range(5)))
    texts: list[str] = []

    class Listening(FakeServer):
        def build_reply(self, body: Any, asked: Any) -> dict[str, Any]:
            texts.append(body["messages"][-1]["content"][-1]["text"])
            return super().build_reply(body, asked)

    with serving(Listening().app()) as url:
        spec = f"openai:m@{url}/v1"
        judge(open_benchmark(folder), [edits], spec, tmp_path / "r1", Settings(limit=1))
        judge(open_benchmark(folder), [edits], spec, tmp_path / "r2", Settings(limit=1, rubric=False))
        likely = open_benchmark(folder, "complex-edit-probability")
        for name, reasoning in (("r3", None), ("r4", True)):
            settings = Settings(batch_by="question", logprobs=True, reasoning=reasoning, limit=1)
            judge(likely, [edits], spec, tmp_path / name, settings)
    full, bare = texts[:2], texts[2:4]
    assert all("from 10 to 0" in text for text in full)
    assert not any("from 10 to 0" in text for text in bare)
    assert all("whole number from 0 to 10" in text for text in full + bare)
    assert all('"Yes" or "No"' in text for text in texts[4:])
    assert sum("step by step" in text for text in texts[4:]) == 3
    for name in ("r3", "r4"):
        with open_run(tmp_path / name) as run:
            card = score(run, resamples=50)
            assert run.manifest["protocol"] == "complex-edit-probability"
            value = card.cell("M", "IF", "C1").value
            assert value is not None
            assert 0 < value < 10


def write_rows(folder: Path) -> Path:
    """Write two rows in the format of `creval build`."""
    (folder / "built").mkdir(parents=True)
    for number in (0, 7):
        Image.new("RGB", (32, 24), "teal").save(folder / "built" / f"{number:04d}.png")
        content = {"image": f"{number:04d}.png", "edit": row(number)["edit"], "made": {"writer": "some-model"}}
        (folder / "built" / f"{number:04d}.json").write_text(json.dumps(content))
    return folder


def test_rows_as_files(tmp_path: Path) -> None:
    folder = write_rows(tmp_path)
    found = open_benchmark(folder).dataset
    assert found.issues == ()
    assert [sample.id for sample in found.samples[:4]] == [
        "built/C1/0000",
        "built/C2/0000",
        "built/C3/0000",
        "built/C1/0007",
    ]
    assert found.samples[3].source == folder.resolve() / "built" / "0007.png"
    assert found.authored_by == {"writer": "some-model"}
    assert found.match_edit_file is not None
    assert found.match_edit_file("C2/0007").sample == "built/C2/0007"  # type: ignore[union-attr]


def test_dropped_items_are_left_out_without_an_issue(tmp_path: Path) -> None:
    folder = write_rows(tmp_path)
    first, second = (folder / "built" / f"{name}.json" for name in ("0000", "0007"))
    content = json.loads(first.read_text())
    content["edit"]["compound"][1]["dropped"] = True
    first.write_text(json.dumps(content))
    content = json.loads(second.read_text())
    content["edit"]["sequence"][1]["dropped"] = True
    second.write_text(json.dumps(content))
    found = open_benchmark(folder).dataset
    names = [sample.id for sample in found.samples]
    assert names == ["built/C1/0000", "built/C3/0000", "built/C1/0007"]
    assert found.issues == ()


def test_a_broken_row_is_left_out(tmp_path: Path) -> None:
    folder = write_rows(tmp_path)
    (folder / "built" / "0008.json").write_text("{")
    (folder / "built" / "0009.json").write_text('{"image": "../built/0000.png", "edit": {}}')
    found = open_benchmark(folder).dataset
    assert len(found.samples) == 6
    assert [finding.rule for finding in found.issues] == ["broken row", "no image"]
