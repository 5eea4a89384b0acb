"""Tests of the reader of own samples, with valid, invalid, huge and hostile tables."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.own_samples.release import MAX_GROUPS
from creval.core.benchmark import Benchmark
from creval.core.errors import CrevalError
from tests.benchmarks.own_samples.tables import write_images, write_samples


def rules(benchmark: Benchmark) -> list[tuple[str, str]]:
    return [(issue.rule, issue.location) for issue in benchmark.dataset.issues]


def test_a_table_of_images_and_instructions_is_a_benchmark(tmp_path: Path) -> None:
    benchmark = open_benchmark(write_samples(tmp_path / "weather"), "viescore")
    samples = benchmark.dataset.samples
    assert [sample.id for sample in samples] == [f"cat{n}" for n in range(6)]
    assert samples[2].source == (tmp_path / "weather" / "cat2.png").resolve()
    assert samples[2].instruction == "Make the cat green"
    assert (benchmark.name, benchmark.title, rules(benchmark)) == ("own-samples", "weather", [])
    assert [(level.name, level.groups) for level in benchmark.schema.levels] == [
        ("overall", ("overall",)),
        ("weather", ("rain", "sun")),
        ("difficulty", ("1", "2", "10")),
    ]


def test_all_that_a_row_can_hold(tmp_path: Path) -> None:
    folder = write_samples(
        tmp_path,
        "id,Image,Prompt,mask,references,source_caption,target_caption,steps,tag:mask,Time of Day\n"
        'a,cat0.png,,cat1.png,cat2.png|cat3.png; cat4.png,a cat,a red cat,"paint it; red | add a hat",hard,noon\n',
    )
    (sample,) = open_benchmark(folder).dataset.samples
    assert sample.instruction == "paint it; red add a hat"
    assert sample.mask is not None
    assert [path.name for path in (sample.mask, *sample.references)] == [f"cat{n}.png" for n in (1, 2, 3, 4)]
    assert sample.captions == {"source": "a cat", "target": "a red cat"}
    assert [step.text for step in sample.steps] == ["paint it; red", "add a hat"]
    assert sample.tags == {"mask": "hard", "time_of_day": "noon"}


def test_lines_of_json_can_nest(tmp_path: Path) -> None:
    row = {
        "source": "cat0.png",
        "instruction": "Make it red, then larger",
        "references": ["cat1.png"],
        "captions": {"source": "a cat"},
        "tags": {"Weather": "rain"},
        "level": 3,
        "steps": ["red", {"text": "larger", "kind": "size", "needs": [1], "boxes": [[0, 0, 4, 5]]}],
        "questions": ["Is it red?", {"question": "Is it a dog?", "metric": "VC", "reference": False, "weight": 2}],
    }
    folder = write_samples(tmp_path, json.dumps(row), "samples.jsonl")
    (sample,) = open_benchmark(folder).dataset.samples
    assert sample.tags == {"weather": "rain", "level": "3"}
    assert (sample.steps[1].needs, sample.steps[1].boxes) == ((0,), ((0.0, 0.0, 4.0, 5.0),))
    assert [(q.id, q.text, q.reference, q.weight) for q in sample.questions] == [
        ("score/1", "Is it red?", "Yes", 1.0),
        ("VC/1", "Is it a dog?", "No", 2.0),
    ]


def test_faulty_rows_are_reported_and_the_others_used(tmp_path: Path) -> None:
    table = [
        "id,source,instruction,mask,overall",
        "a,cat0.png,Make it red,,",
        "b,cat1.png,,,",
        "c,,Make it red,,",
        "d,../secret.png,Make it red,,",
        "e,/etc/passwd,Make it red,,",
        "a,cat2.png,Make it red,,",
        ",cat2.png,Make it red,,",
        ",cat2.png,Make it blue,,",
        "f,gone.png,Make it red,,",
        "g,cat3.png,Make it red,../mask.png,",
        "h,cat3.png,Make it red,,everywhere",
        "i,cat3.png,Make it red, please,,x",
        "j,link.png,Make it red,,",
    ]
    folder = write_samples(tmp_path / "bench", "\n".join(table))
    write_images(tmp_path, ["secret.png"])
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    benchmark = open_benchmark(folder)
    assert [sample.id for sample in benchmark.dataset.samples] == ["a", "cat2", "f", "h"]
    assert rules(benchmark) == [
        ("no instruction", "samples.csv, line 3"),
        ("no source", "samples.csv, line 4"),
        ("image outside", "samples.csv, line 5"),
        ("image outside", "samples.csv, line 6"),
        ("repeated id", "samples.csv, line 7"),
        ("repeated id", "samples.csv, line 9"),
        ("missing source", "samples.csv, line 10"),
        ("image outside", "samples.csv, line 11"),
        ("unusable tag", "samples.csv, line 12"),
        ("unreadable row", "samples.csv, line 13"),
        ("image outside", "samples.csv, line 14"),
    ]
    assert all(issue.note for issue in benchmark.dataset.issues)


def test_a_table_without_sources_is_of_images_made_from_text(tmp_path: Path) -> None:
    folder = write_samples(tmp_path, "id,instruction\na,A red cat\n,A blue cat\n")
    benchmark = open_benchmark(folder, "viescore")
    (sample,) = benchmark.dataset.samples
    assert sample.source is None
    assert rules(benchmark) == [("no id", "samples.csv, line 3")]


def test_questions_in_a_table_of_their_own(tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    rows = [
        "sample,metric,question,reference,weight",
        "cat0,Following,Is the cat red?,yes,2",
        "cat0,Following,Is it a dog?,No,",
        "cat0,Beauty,Is it well drawn?,,",
        "cat1,,Is it blue?,Yes,1",
        "cat9,Following,Is it red?,Yes,1",
        "cat1,Following,,Yes,1",
        "cat1,Following,Is it red?,maybe,1",
        "cat1,Following,Is it red?,Yes,-1",
        "cat1,mean,Is it red?,Yes,1",
        "cat1,Follow=ing,Is it red?,Yes,1",
        "cat1,<b>$,Is it red?,Yes,1",
    ]
    (folder / "questions.csv").write_text("\n".join(rows))
    benchmark = open_benchmark(folder)
    assert benchmark.protocol.name == "questions"
    assert [(q.id, q.metric, q.reference, q.weight) for q in benchmark.dataset.samples[0].questions] == [
        ("Following/1", "Following", "Yes", 2.0),
        ("Following/2", "Following", "No", 1.0),
        ("Beauty/1", "Beauty", "Yes", 1.0),
    ]
    assert benchmark.schema.columns == ("Following", "Beauty", "score", "mean")
    assert rules(benchmark) == [
        ("question without a sample", "questions.csv, line 6"),
        ("empty question", "questions.csv, line 7"),
        ("unreadable reference", "questions.csv, line 8"),
        ("unusable weight", "questions.csv, line 9"),
        ("unusable metric", "questions.csv, line 10"),
        ("unusable metric", "questions.csv, line 11"),
        ("unusable metric", "questions.csv, line 12"),
    ]


def test_a_tag_is_a_level_if_its_values_are_groups(tmp_path: Path) -> None:
    rows = ["id,instruction,author,parity,constant,many"]
    rows += [f"s{n},Make it red,person {n},{n % 2},same,{n % (MAX_GROUPS + 1)}" for n in range(2 * MAX_GROUPS + 4)]
    levels = open_benchmark(write_samples(tmp_path, "\n".join(rows))).dataset.levels
    assert [level.name for level in levels] == ["overall", "parity", "constant"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("", "contains no usable sample"),
        ("id,instruction\n", "contains no usable sample"),
        ("source,instruction\ncat0.png,\n", r"no usable sample \(samples.csv, line 2: no instruction"),
        ("\x00\xff\x00", "contains no usable sample"),
    ],
)
def test_a_table_without_a_usable_row_is_refused(table: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match=said):
        open_benchmark(write_samples(tmp_path, table))


def test_two_tables_are_one_too_many(tmp_path: Path) -> None:
    folder = write_samples(tmp_path)
    (folder / "samples.jsonl").write_text("{}")
    with pytest.raises(CrevalError, match="Keep one of them"):
        open_benchmark(folder)


def test_a_release_that_also_has_a_table_stays_a_release(miniature: Path, tmp_path: Path) -> None:
    for name in ("bench", "instruction.json", "image", "questions_all"):
        if (miniature / name).exists():
            (tmp_path / name).symlink_to(miniature / name)
    write_samples(tmp_path)
    assert open_benchmark(tmp_path).name == "creval"


def test_hostile_cells_are_text(tmp_path: Path) -> None:
    rows = [
        {"id": "a\x1b[31m", "instruction": "=cmd()\x1b[2J", "weather": "<script>", "references": 5, "steps": {"a": 1}},
        {"id": ["b"], "instruction": {"c": 1}, "tags": [1], "questions": 7, "captions": "x"},
        {"id": "c", "instruction": "x", "questions": [7, {"question": ["y"]}, {"question": "z", "weight": 1e999}]},
        {"id": "\ud800", "instruction": "x", "mask": "\x00", "steps": [{"text": "t", "boxes": [["a"]]}, []]},
        {"id": "d" * 5000, "instruction": "x" * 100_000, "tags": {"": 1, "t" * 5000: 2, "ok": "v" * 5000}},
    ]
    table = "\n".join(json.dumps(row) for row in rows)
    benchmark = open_benchmark(write_samples(tmp_path, table, "samples.jsonl"))
    assert [sample.id for sample in benchmark.dataset.samples] == ["a\x1b[31m", "c", "d" * 5000]
    assert {rule for rule, _ in rules(benchmark)} >= {"no id", "image outside", "unusable tag", "unusable question"}


@pytest.mark.slow
def test_a_hundred_thousand_rows(tmp_path: Path) -> None:
    rows = "".join(f"s{n},cat0.png,Make it red,{n % 7}\n" for n in range(100_000))
    folder = write_samples(tmp_path, "id,source,instruction,group\n" + rows)
    start = os.times().user
    benchmark = open_benchmark(folder)
    assert len(benchmark.dataset.samples) == 100_000
    assert os.times().user - start < 30
