"""Tests of CREval's reader: nothing is repaired or dropped silently."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from creval.benchmarks import open_benchmark
from creval.benchmarks.creval.release import CLASS_DIMENSIONS, TAXONOMY
from creval.core.benchmark import Benchmark, DatasetIssue
from creval.core.errors import CrevalError


def item(text: str = "Is it?", answer: Any = "Yes", **more: Any) -> dict[str, Any]:
    return {"question_id": "Q1", "question": text, "choices": ["Yes", "No"], "answer": answer, "weight": 1, **more}


def write(folder: Path, questions: dict[str, Any], entries: Any = None, metric: str = "VC") -> Path:
    """Write a release with one sample for each question file. All questions are of one metric."""
    if entries is None:
        entries = [
            {"id": n, "input_prompt": "do", "input_image": [f"image/{stem}.png"], "class_id": 1}
            for n, stem in enumerate(questions, 1)
        ]
    for other in ("IF", "VC", "VQ"):
        where = folder / "bench" / "questions_all" / other
        where.mkdir(parents=True, exist_ok=True)
        for stem, content in questions.items():
            listed = content if other == metric else [item()]
            text = listed if isinstance(listed, str) else json.dumps({"quality_check_questions": listed})
            (where / f"{stem}.json").write_text(text)
    (folder / "bench" / "instruction.json").write_text(json.dumps(entries))
    return folder


def findings(benchmark: Benchmark) -> list[DatasetIssue]:
    return list(benchmark.dataset.issues)


@pytest.mark.parametrize(
    ("released", "repaired"),
    [
        ("** Yes", "Yes"),
        ("yes", "Yes"),
        ("Yes\n```", "Yes"),
        ("No  \n```", "No"),
        ("No (unless explicitly stated; default is the baseplate)", "No"),
    ],
)
def test_references_are_repaired_and_kept_as_released(tmp_path: Path, released: str, repaired: str) -> None:
    benchmark = open_benchmark(write(tmp_path, {"a": [item(answer=released)]}))
    (finding,) = findings(benchmark)
    assert (finding.rule, finding.location, finding.item) == ("reference", "VC/a", "Q1")
    assert (finding.original, finding.replacement, finding.is_repaired) == (released, repaired, True)
    question = next(q for q in benchmark.dataset.samples[0].questions if q.metric == "VC")
    assert (question.reference, question.released_reference) == (repaired, released)


def test_malformed_choices_and_weights_are_repaired(tmp_path: Path) -> None:
    odd = [item(choices=["** Yes", "No\n**"]), item(weight="heavy"), item(weight=-1)]
    odd += [item(weight="3"), item(weight=None), item(question_id=None)]
    benchmark = open_benchmark(write(tmp_path, {"a": odd}))
    repairs = [(f.rule, f.original, f.replacement) for f in findings(benchmark) if f.is_repaired]
    assert repairs == [
        ("choices", "['** Yes', 'No\\n**']", "['Yes', 'No']"),
        ("weight", "'heavy'", "1"),
        ("weight", "-1", "1"),
        ("weight", "'3'", "3"),
        ("weight", "None", "1"),
        ("question id", "none", "Q6"),
    ]


def test_unrepairable_questions_are_problems_and_stay(tmp_path: Path) -> None:
    block = [item(text="One?"), item(text="Two?", question_id="Q2")]
    benchmark = open_benchmark(
        write(
            tmp_path, {"a": [item(text="", answer="")], "b": [*block, *block], "c": [item(answer="perhaps")], "d": []}
        )
    )
    problems = {f.location: f.rule for f in findings(benchmark) if not f.is_repaired}
    assert problems == {
        "VC/a": "empty question",
        "VC/b": "repeated block",
        "VC/c": "unreadable reference",
        "VC/d": "no questions",
    }
    by_id = {sample.id: sample for sample in benchmark.dataset.samples}
    repeated = [q for q in by_id["b"].questions if q.metric == "VC"]
    assert [q.id for q in repeated] == ["VC/1", "VC/2", "VC/3", "VC/4"], "ids are positions"
    assert [q.label for q in repeated] == ["Q1", "Q2", "Q1", "Q2"]
    (empty,) = (q for q in by_id["a"].questions if q.metric == "VC")
    assert empty.reference is None


def test_a_broken_file_among_others_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    benchmark = open_benchmark(write(tmp_path, {"a": [item()], "b": '{"quality_check_questions": [', "c": '"text"'}))
    broken = {f.location: f.note for f in findings(benchmark)}
    assert "not valid JSON" in broken["VC/b"]
    assert "no list of questions" in broken["VC/c"]
    assert [len(sample.questions) for sample in benchmark.dataset.samples] == [3, 2, 2]


@pytest.mark.parametrize(
    ("steps", "read"),
    [
        (None, ()),
        (["add a hat", "paint it"], ("add a hat", "paint it")),
        (["add a hat", 1], None),
        (["add a hat", " "], None),
        ("add a hat", None),
    ],
)
def test_steps_are_texts(tmp_path: Path, steps: Any, read: tuple[str, ...] | None) -> None:
    entry = {"input_prompt": "do", "input_image": ["image/a.png"], "class_id": 1, "steps": steps}
    benchmark = open_benchmark(write(tmp_path, {"a": [item()]}, [entry]))
    (sample,) = benchmark.dataset.samples
    assert tuple(step.text for step in sample.steps) == (read or ())
    assert [found.rule for found in findings(benchmark)] == (["broken steps"] if read is None else [])


def test_faults_of_the_sample_list(tmp_path: Path) -> None:
    entries = [
        {"input_prompt": "do", "input_image": ["image/a.png"], "class_id": 4},
        {"input_prompt": "again", "input_image": ["image/a.png"], "class_id": 4},
        {"input_prompt": "", "input_image": "../../../etc/b.png", "class_id": 12},
        {"input_prompt": "no image"},
        "not an object",
        {"input_prompt": "no questions", "input_image": ["image/new.png"], "class_id": 9},
    ]
    benchmark = open_benchmark(write(tmp_path, {"a": [item()], "b": [item()], "z": [item()]}, entries))
    rules = Counter(finding.rule for finding in findings(benchmark))
    assert rules == {
        "repeated sample": 1,
        "empty instruction": 1,
        "image outside": 1,
        "unknown class": 1,
        "broken entry": 2,
        "no questions": 3,
        "questions without a sample": 3,
    }
    samples = {sample.id: sample for sample in benchmark.dataset.samples}
    assert samples.keys() == {"a", "b", "new"}
    assert samples["b"].source is None
    assert samples["a"].tags == {"category": "Stylization", "dimension": "Artistic Style Transformation"}


def test_names_with_anything_in_them(tmp_path: Path) -> None:
    stems = ["Daniel_&_Hannah", "Tu虥o虥虁ng", "a b.c"]
    benchmark = open_benchmark(write(tmp_path, {stem: [item()] for stem in stems}))
    assert [sample.id for sample in benchmark.dataset.samples] == stems
    assert findings(benchmark) == []


def test_the_folder_is_recognised_from_above_and_from_inside(tmp_path: Path) -> None:
    write(tmp_path, {"a": [item()]})
    for path in (tmp_path, tmp_path / "bench"):
        assert open_benchmark(path).name == "creval"
    (tmp_path / "bench" / "questions_all").rename(tmp_path / "bench" / "questiions_all")
    assert open_benchmark(tmp_path).name == "creval", "the spelling in the first release"


def test_wrong_folders_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="does not exist"):
        open_benchmark(tmp_path / "absent")
    with pytest.raises(CrevalError, match="not a benchmark"):
        open_benchmark(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(CrevalError, match="is a file"):
        open_benchmark(tmp_path / "file")
    for content, sentence in (("{", "not valid JSON"), ("{}", "list of samples"), ("[]", "no usable sample")):
        write(tmp_path, {"a": [item()]})
        (tmp_path / "bench" / "instruction.json").write_text(content)
        with pytest.raises(CrevalError, match=sentence):
            open_benchmark(tmp_path)


def test_the_taxonomy_has_three_categories_of_three() -> None:
    assert [len(dimensions) for dimensions in TAXONOMY.values()] == [3, 3, 3]
    assert sorted(CLASS_DIMENSIONS) == sorted(d for dimensions in TAXONOMY.values() for d in dimensions)


def test_the_official_release(release: Path) -> None:
    benchmark = open_benchmark(release)
    samples = benchmark.dataset.samples
    assert len(samples) == 904
    assert Counter(q.metric for s in samples for q in s.questions) == {"IF": 5253, "VC": 5798, "VQ": 4746}
    assert Counter(s.tags["category"] for s in samples) == {
        "Customization": 308,
        "Contextualization": 340,
        "Stylization": 256,
    }
    assert {name: len(ids) for name, ids in benchmark.dataset.subsets.items()} == {"paper": 874}
    weights = Counter(q.weight for s in samples for q in s.questions if q.metric == "VC")
    assert weights == {1: 1415, 2: 2347, 3: 2036}
    repairs = Counter((f.rule, f.original) for f in benchmark.dataset.issues if f.rule == "reference")
    assert sum(repairs.values()) == 50 + 45 + 6 + 4 + 3 + 1
    assert repairs["reference", "** Yes"] == 45
    assert sum(f.rule == "choices" for f in benchmark.dataset.issues) == 100
    problems = Counter(f.rule for f in benchmark.dataset.issues if not f.is_repaired)
    assert problems == {"empty question": 3, "repeated block": 4}


def test_the_way_to_the_folder_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = {"input_prompt": "do", "input_image": ["image/a.png"], "class_id": 1}
    outside = {"input_prompt": "do", "input_image": ["../../../etc/b.png"], "class_id": 1}
    write(tmp_path / "m", {"a": [item()], "b": [item()]}, [inside, outside])
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "m" / "bench")
    for path in (".", "..", "../../other/../m", tmp_path / "m"):
        benchmark = open_benchmark(path)
        assert [(f.rule, f.location) for f in findings(benchmark)] == [("image outside", "b")]
        assert benchmark.dataset.samples[0].source == tmp_path / "m" / "bench" / "image" / "a.png"
