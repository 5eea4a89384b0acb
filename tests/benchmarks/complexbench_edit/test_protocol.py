"""Tests of ComplexBench-Edit: chains worked out by hand, the paper's averages, and the released instructions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

import shared_data
from creval.analysis.comparison import compare
from creval.analysis.scoring import score as score_run
from creval.benchmarks import open_benchmark
from creval.benchmarks.complexbench_edit.protocol import (
    CRITERIA,
    ComplexBenchEdit,
    ComplexBenchEditAllBoxes,
    dependency_chains,
)
from creval.benchmarks.complexbench_edit.release import EDIT_TYPES, LEVELS, SUBSETS
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark, Dataset
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.probe import Measurement, Question
from creval.core.sample import InstructionStep, Sample
from creval.core.schema import Score
from creval.core.verdict import Verdict, VerdictStatus
from creval.judging.judge_run import judge
from creval.reporting import tables
from creval.store import RunWriter, open_run
from creval.store.edit_folders import find_edits
from creval.store.manifest import describe_run
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.serving import serving

PROTOCOL = ComplexBenchEdit()
PARALLEL = (InstructionStep("a", "color"), InstructionStep("b", "text"), InstructionStep("c", "color"))
TWO = (InstructionStep("a", "add object"), InstructionStep("b", "color", (0,)), InstructionStep("c", "delete object"))
THREE = (InstructionStep("a", "add object"), InstructionStep("b", "color", (0,)), InstructionStep("c", "text", (1,)))

# Table 2 of the paper: the five subsets and the average.
TABLE_2 = {
    "InstructPix2Pix": (9.95, 10.45, 13.47, 4.83, 0.52, 7.85),
    "MagicBrush": (18.29, 14.65, 11.90, 9.70, 0.57, 11.02),
    "UltraEdit": (24.46, 25.78, 23.80, 13.74, 3.10, 18.18),
    "AnyEdit": (13.51, 11.27, 9.33, 6.61, 1.01, 8.35),
    "VAR-GPT": (0.86, 0.39, 3.80, 0.54, 0.00, 1.12),
    "SEED-LLAMA": (5.59, 5.93, 6.00, 4.48, 0.27, 4.46),
    "OmniGen": (32.34, 26.57, 30.90, 16.96, 4.36, 22.23),
    "GoT": (20.09, 14.85, 16.42, 11.76, 0.93, 12.81),
    "ICEdit": (32.97, 26.96, 27.07, 21.80, 8.09, 23.38),
    "Step1X-Edit": (32.61, 30.14, 31.57, 19.56, 6.34, 24.05),
    "Gemini": (49.31, 43.47, 37.23, 38.35, 15.10, 36.70),
    "Gemini-CoT": (51.76, 50.11, 43.08, 39.85, 17.54, 40.47),
}


# Table 4: L1 and L2 in the four subsets with consistency, and the average.
TABLE_4 = {
    "InstructPix2Pix": ((0.1663, 0.0588), (0.1581, 0.0560), (0.1696, 0.0617), (0.1374, 0.0428), (0.1578, 0.0548)),
    "MagicBrush": ((0.0701, 0.0233), (0.0707, 0.0242), (0.0609, 0.0210), (0.0599, 0.0180), (0.0654, 0.0216)),
    "UltraEdit": ((0.0568, 0.0098), (0.0522, 0.0081), (0.0556, 0.0092), (0.0596, 0.0099), (0.0560, 0.0092)),
    "AnyEdit": ((0.0685, 0.0239), (0.0602, 0.0194), (0.0747, 0.0292), (0.0424, 0.0078), (0.0614, 0.0201)),
    "VAR-GPT": ((0.2539, 0.1165), (0.2421, 0.1112), (0.2400, 0.1066), (0.2390, 0.1038), (0.2437, 0.1095)),
    "SEED-LLAMA": ((0.2763, 0.1223), (0.2754, 0.1213), (0.2716, 0.1184), (0.2727, 0.1174), (0.2740, 0.1198)),
    "OmniGen": ((0.0392, 0.0071), (0.0352, 0.0059), (0.0381, 0.0079), (0.0382, 0.0062), (0.0377, 0.0068)),
    "GoT": ((0.0730, 0.0287), (0.0819, 0.0351), (0.0564, 0.0221), (0.0587, 0.0219), (0.0675, 0.0269)),
    "ICEdit": ((0.0422, 0.0095), (0.0411, 0.0104), (0.0471, 0.0131), (0.0397, 0.0083), (0.0425, 0.0103)),
    "Step1X-Edit": ((0.0462, 0.0157), (0.0392, 0.0113), (0.0413, 0.0130), (0.0498, 0.0155), (0.0441, 0.0139)),
    "Gemini": ((0.0657, 0.0192), (0.0559, 0.0159), (0.0634, 0.0197), (0.0531, 0.0129), (0.0595, 0.0169)),
    "Gemini-CoT": ((0.0982, 0.0348), (0.0718, 0.0209), (0.0823, 0.0292), (0.0863, 0.0273), (0.0846, 0.0281)),
}
MEASURED = [subset for subset in SUBSETS if subset != "COCO-obj-attr-global"]


def score(steps: tuple[InstructionStep, ...], *values: float | None) -> Score:
    sample = Sample("s", "a\nb\nc", steps=steps)
    probes = PROTOCOL.probes(sample)
    answers = {probe.id: value for probe, value in zip(probes, values, strict=True)}
    return PROTOCOL.score(sample, probes, answers)["score"]


@pytest.mark.parametrize(
    ("steps", "values", "expected"),
    [
        (PARALLEL, (5, 0, 4), 100 * (1 + 0 + 0.8) / 3),
        (TWO, (5, 4, 3), 100 * (0.8 + 0.6) / 2),
        (TWO, (0, 5, 5), 50.0),
        (THREE, (5, 4, 3), 48.0),
        (THREE, (5, 5, 0), 0.0),
    ],
)
def test_scores_multiply_along_a_chain(
    steps: tuple[InstructionStep, ...], values: tuple[float, ...], expected: float
) -> None:
    assert score(steps, *values).value == pytest.approx(expected)


def test_a_step_without_an_answer_leaves_no_score() -> None:
    assert score(THREE, 0, None, 5) == Score(None, 2, 3)
    assert dependency_chains(PARALLEL) == [[0], [1], [2]]
    assert dependency_chains(TWO) == [[0, 1], [2]]
    assert dependency_chains(THREE) == [[0, 1, 2]]


def test_edit_types_are_of_single_steps() -> None:
    sample = Sample("s", "", steps=THREE)
    answers = {"score/1": 0.0, "score/2": 4.0, "score/3": None}
    parts = PROTOCOL.sub_scores(sample, PROTOCOL.probes(sample), answers)["edit_type"]
    assert [(part.group, part.score) for part in parts] == [
        ("add object", Score(0.0, 1, 1)),
        ("color", Score(80.0, 1, 1)),
        ("text", Score(None, 0, 1)),
    ]


def test_every_type_has_its_criteria_and_each_step_its_own_call() -> None:
    assert set(CRITERIA) == set(EDIT_TYPES)
    asked = [q for q in PROTOCOL.probes(Sample("s", "", steps=THREE)) if isinstance(q, Question)]
    assert [question.rubric for question in asked] == [CRITERIA[step.kind] for step in THREE]
    assert len({question.group for question in asked}) == 3


def test_the_average_is_of_the_five_subsets_as_in_the_papers_table(tmp_path: Path) -> None:
    """With one sample per subset that has the subset's score, the average is the paper's."""
    benchmark = open_benchmark(write_release(tmp_path / "bench", each=1))
    with RunWriter(tmp_path / "run") as store, store.transaction():
        protocol = benchmark.protocol
        store.put_samples([(s, protocol.probes(s)) for s in benchmark.dataset.samples], {})
        store.put_manifest(describe_run(benchmark, "paper"))
        for model, cells in TABLE_2.items():
            for sample, cell in zip(benchmark.dataset.samples, cells[:5], strict=True):
                key = EditKey(model, sample.id)
                store.put_edits([Edit(key)])
                # Values that give the sample the cell's score: each chain's product is cell / 100.
                values = [5.0, 5.0, 5.0]
                for chain in dependency_chains(sample.steps):
                    values[chain[0]] = 5 * cell / 100
                verdicts = [Verdict(f"score/{n + 1}", VerdictStatus.ANSWERED, value) for n, value in enumerate(values)]
                if (subset := sample.tags["subset"]) in MEASURED:
                    distances = TABLE_4[model][MEASURED.index(subset)]
                    verdicts += [
                        Verdict(name, VerdictStatus.ANSWERED, value)
                        for name, value in zip(("L1", "L2"), distances, strict=True)
                    ]
                ask = CallKey("paper", key, tuple(v.probe for v in verdicts))
                store.put_replies([(ask, Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path / "run") as run:
        card = score_run(run, resamples=100)
    for model, cells in TABLE_2.items():
        assert card.cell(model, "score").value == pytest.approx(cells[-1], abs=0.011)
        for subset, cell in zip(SUBSETS, cells, strict=False):
            assert card.cell(model, "score", subset).value == pytest.approx(cell)
        # Each of five published numbers is within half of its last digit.
        for at, column in enumerate(("L1", "L2")):
            average = TABLE_4[model][-1][at]
            assert card.cell(model, column).value == pytest.approx(average, abs=0.0001 + 1e-9)
    assert card.models[:2] == ("Gemini-CoT", "Gemini")
    assert card.cell("Gemini", "L1", "COCO-obj-attr-global").value is None
    assert tables.best_and_second(card, "overall", "overall", "L1", {}) == {"OmniGen": 1, "ICEdit": 2}


def test_the_whole_way_with_the_authors_layout_of_results(tmp_path: Path) -> None:
    benchmark = open_benchmark(write_release(tmp_path / "bench"))
    results, flat = tmp_path / "Chained", tmp_path / "Flat"
    flat.mkdir()
    for sample in benchmark.dataset.samples:
        subset, _, key = sample.id.partition("/")
        for seed in (1, 2):
            path = results / subset / f"testResults_{seed}" / key / f"{key}_1.png"
            path.parent.mkdir(parents=True)
            Image.new("RGB", (32, 32), (seed, 0, 200)).save(path)
        Image.new("RGB", (32, 32), "green").save(flat / f"{key}.png")
    found = find_edits([results, flat], benchmark.dataset.samples, benchmark.dataset.match_edit_file)
    assert not found.unmatched_files
    assert Counter(edit.key.model for edit in found.edits) == {"Chained": 20, "Flat": 10}
    assert {edit.key.draw for edit in found.edits if edit.key.model == "Chained"} == {1, 2}
    server = FakeServer()
    with serving(server.app()) as url:
        spec = f"openai:fake@{url}/v1"
        done = judge(benchmark, [results, flat], spec, tmp_path / "run", Settings())
    assert (done.expected_answers, done.unanswered) == (90, 0)
    assert server.stats["requests"] == 90, "each step is rated in its own call, with its own criteria"
    with open_run(tmp_path / "run") as run:
        card = score_run(run, resamples=200)
        subsets = [card.cell("Flat", "score", subset).value or 0 for subset in SUBSETS]
        assert card.cell("Flat", "score").value == pytest.approx(sum(subsets) / 5)
        assert card.groups("edit_type") == ("add object", "change object", "color", "text", "change style")
        answers = [vs for key, vs in run.values_by_edit() if key.model == "Flat"]
        steps = [v for vs in answers for name, v in vs.items() if name.startswith("score")]
        types = [card.cell("Flat", "score", kind) for kind in card.groups("edit_type")]
        assert sum(cell.scored for cell in types) == len(steps) == 30
        mean = sum((cell.value or 0) * cell.scored for cell in types) / 30
        assert mean == pytest.approx(20 * sum(value or 0 for value in steps) / 30)
        compared = compare(run, "Flat", "Chained", resamples=100)
        kinds = {group for level, group, _ in compared.differences if level == "edit_type"}
        assert len(kinds) == 10
        gap = compared.sample_gaps[0]
        assert gap.first["score"] != gap.second["score"]
        for question in gap.questions:
            first, second = (answer.value or 0 for (answer,) in question.answers)
            assert question.winner == ("Flat" if first > second else "Chained")


def test_all_released_samples_load() -> None:
    folder = shared_data.unpacked("complexbench-instructions.tar.xz")
    if folder is None:
        pytest.skip("needs the released instructions")
    dataset = open_benchmark(folder).dataset
    assert Counter(s.tags["subset"] for s in dataset.samples) == {
        "COCO-three-obj": 148,
        "COCO-two-obj-one-attr": 207,
        "COCO-obj-attr-global": 200,
        "two-chain": 108,
        "three-chain": 100,
    }
    assert len({sample.id for sample in dataset.samples}) == 763
    assert all(len(sample.steps) == 3 for sample in dataset.samples)
    assert all(step.kind in EDIT_TYPES for sample in dataset.samples for step in sample.steps)
    needs = {s.tags["subset"]: tuple(step.needs for step in s.steps) for s in dataset.samples}
    assert needs["two-chain"] == ((), (0,), ())
    assert needs["three-chain"] == ((), (0,), (1,))
    assert needs["COCO-three-obj"] == ((), (), ())
    assert Counter(found.rule for found in dataset.issues) == {"edit type": 199}


def test_oddities_are_reported_and_not_guessed_over(tmp_path: Path) -> None:
    bench = write_release(tmp_path / "bench")
    path = bench / "data" / "instructions" / "two-chain" / "final_update_v2.json"
    entries = json.loads(path.read_text())
    first, second = entries
    entries[first]["new_ins"] = "only one line"
    entries[second]["edit pair"][2]["edit_type"] = "teleport"
    entries["x"] = "not an entry"
    path.write_text(json.dumps(entries))
    (bench / "data" / "instructions" / "three-chain" / "final_update_v2.json").unlink()
    dataset = open_benchmark(bench).dataset
    rules = Counter(found.rule for found in dataset.issues if not found.is_repaired)
    assert rules == {"no subset": 1, "steps that do not match": 1, "unknown edit type": 1, "broken entry": 1}
    assert len(dataset.samples) == 7


def test_two_images_of_one_name_are_not_guessed_between(tmp_path: Path) -> None:
    bench = write_release(tmp_path / "bench", each=1)
    source = next((bench / "data" / "images").iterdir())
    same, other = (bench / "data" / name / source.name for name in ("copies", "aaa_edits"))
    for path in (same, other):
        path.parent.mkdir()
    same.write_bytes(source.read_bytes())
    assert not any(f.rule.startswith("several") for f in open_benchmark(bench).dataset.issues)
    Image.new("RGB", (32, 32), "white").save(other)
    dataset = open_benchmark(bench).dataset
    (found,) = (f for f in dataset.issues if f.rule == "several images of one name")
    sample = next(s for s in dataset.samples if s.id == found.location)
    assert sample.source is not None
    assert not sample.source.exists()


def test_on_other_datasets_the_groups_are_theirs_and_the_types_its_own(tmp_path: Path) -> None:
    bench = write_parquet(tmp_path / "complex", test_real=[row(number) for number in range(6)])
    benchmark = open_benchmark(bench, "complexbench-edit")
    assert [level.name for level in benchmark.schema.levels] == ["overall", "complexity", "delta", "edit_type"]
    edits = tmp_path / "M" / "C2"
    edits.mkdir(parents=True)
    for number in range(6):
        Image.new("RGB", (32, 24), (number, 5, 5)).save(edits / f"{number}.png")
    with serving(FakeServer().app()) as url:
        spec = f"openai:m@{url}/v1"
        judge(benchmark, [edits.parent], spec, tmp_path / "run", Settings(metrics=("score",)))
    with open_run(tmp_path / "run") as run:
        card = score_run(run, resamples=50)
        assert card.cell("M", "score").value == card.cell("M", "score", "C2").value
        assert card.cell("M", "score").value is not None


def test_edit_types_are_compared_on_the_same_steps(tmp_path: Path) -> None:
    """A step that is answered for only one of two models does not count in their difference."""
    sample = Sample("s", "a\nb\nc", steps=PARALLEL, tags={"subset": "COCO-three-obj"})
    benchmark = Benchmark(Dataset("made", tmp_path, (sample,), levels=LEVELS), PROTOCOL)
    with RunWriter(tmp_path / "run") as store, store.transaction():
        store.put_samples([(sample, PROTOCOL.probes(sample))], {})
        store.put_manifest(describe_run(benchmark, "j"))
        for model, values in (("A", (5.0, 5.0, None)), ("B", (5.0, 5.0, 0.0))):
            store.put_edits([Edit(EditKey(model, "s"))])
            verdicts = [
                Verdict(f"score/{n}", VerdictStatus.MISSING if v is None else VerdictStatus.ANSWERED, v)
                for n, v in enumerate(values, 1)
            ]
            ask = CallKey("j", EditKey(model, "s"), tuple(v.probe for v in verdicts))
            store.put_replies([(ask, Reply(VerdictStatus.ANSWERED), verdicts)])
    with open_run(tmp_path / "run") as run:
        found = compare(run, "A", "B", resamples=50).differences
        assert found["edit_type", "text", "score"].value == 0.0
        assert found["edit_type", "color", "score"].value is None


def test_images_are_found_anywhere_inside(tmp_path: Path) -> None:
    folder = write_release(tmp_path, each=1)
    (folder / "data" / "images").rename(folder / "pictures")
    sources = [sample.source for sample in open_benchmark(folder).dataset.samples]
    assert len(sources) == 5, "one of each subset"
    assert all(source is not None and source.is_file() for source in sources)


def test_boxes_from_cocos_annotations_in_an_image_of_another_size(tmp_path: Path) -> None:
    bench = write_release(tmp_path / "bench", each=1)
    entries = json.loads((bench / "data/instructions/three-chain/final_update_v2.json").read_text())
    (key,) = entries
    number = int(Path(entries[key]["img_path"]).stem)
    # The image is 32 x 32 pixels here; in the annotations it is 64 x 64.
    content = {
        "categories": [{"id": 1, "name": "cat"}],
        "images": [{"id": number, "width": 64, "height": 64}],
        "annotations": [{"image_id": number, "category_id": 1, "bbox": [8, 16, 32, 32]}],
    }
    (bench / "data" / "annotations").mkdir()
    (bench / "data" / "annotations" / "instances_val.json").write_text(json.dumps(content))
    samples = {s.tags["subset"]: s for s in open_benchmark(bench).dataset.samples}
    assert samples["three-chain"].steps[0].boxes == ((4, 8, 20, 24),)
    assert samples["two-chain"].steps[0].boxes == ()


def test_entries_that_were_built_and_dropped(tmp_path: Path) -> None:
    folder = write_release(tmp_path)
    path = folder / "data" / "instructions" / "two-chain" / "final_update_v2.json"
    entries = json.loads(path.read_text())
    first, second = entries.values()
    first["dropped"], second["made"] = True, {"writer": "some-model"}
    path.write_text(json.dumps(entries))
    found = open_benchmark(folder).dataset
    assert sum(sample.tags["subset"] == "two-chain" for sample in found.samples) == 1
    assert found.authored_by == {"writer": "some-model"}


def test_equation_9_is_a_protocol_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "s.png"
    Image.new("RGB", (4, 4)).save(source)
    sample = Sample("s", "", source, steps=(InstructionStep("a", "color", old="cat", boxes=((0, 0, 1, 1),)),))
    probes = ComplexBenchEditAllBoxes().probes(sample)
    measured = [probe for probe in probes if isinstance(probe, Measurement)]
    assert [(one.id, one.metric, one.image_metric) for one in measured] == [
        ("L1_all", "L1", "outside_all"),
        ("L2_all", "L2", "outside_all"),
    ]
    values = {"score/1": 5.0, "L1_all": 0.25, "L2_all": 0.1}
    found = ComplexBenchEditAllBoxes().score(sample, probes, values)
    assert {name: score.value for name, score in found.items()} == {"score": 100.0, "L1": 0.25, "L2": 0.1}
