from __future__ import annotations

import json
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.probe import Question
from creval.core.verdict import VerdictStatus
from creval.judges.recorded import RecordedFile, find_recorded_answers, read_recorded_answers

QUESTIONS = [Question(f"IF/{n}", "IF", f"Is it {n}?", label=f"Q{n}") for n in (1, 2)]
RAW = '{"question_id": "Q1", "answer": "Yes"} {"question_id": "Q2", "answer": "No"}'


def parsed(*answers: str, error: str = "") -> str:
    questions = [
        {
            "question_id": f"Q{n}",
            "question": f"Is it {n}?",
            "correct_answer": "No",
            "model_answer": answer,
            "explanation": "so",
        }
        for n, answer in enumerate(answers, 1)
    ]
    return json.dumps({"questions": questions, **({"error": error} if error else {})})


def put(folder: Path, name: str, content: str) -> RecordedFile:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    metric, model, file = name.split("/")
    return RecordedFile(metric, model, Path(file).stem, file)


def test_answers_are_found_by_metric_model_and_sample(tmp_path: Path) -> None:
    for name in ("IF/B/a.json", "IF/B/a.txt", "IF/B/b.txt", "VQ/A/a.json", "IF/A/x.json", "IF/A/b.md"):
        put(tmp_path, name, "")
    found = find_recorded_answers(tmp_path, ["IF", "VC", "VQ"], ["a", "b"])
    assert [file.origin for file in found.files] == ["VQ/A/a.json", "IF/B/a.json", "IF/B/b.txt"]
    assert found.models == ("A", "B")
    assert found.unmatched == ("IF/A/x",)
    raw = find_recorded_answers(tmp_path, ["IF", "VC", "VQ"], ["a", "b"], raw=True)
    assert [file.name for file in raw.files] == ["a.json", "a.txt", "b.txt"]
    assert found.ignored == ("IF/A/b.md",)
    only = find_recorded_answers(tmp_path, ["IF", "VC", "VQ"], ["a", "b"], only_models=["A"])
    assert [file.model for file in only.files] == ["A"]
    with pytest.raises(CrevalError, match="did you mean 'A'"):
        find_recorded_answers(tmp_path, ["IF"], ["a", "b"], only_models=["a"])


def test_unmatched_and_ignored_files_are_listed(tmp_path: Path) -> None:
    for name in ("IF/A/a.json", "IF/A/b.JSON", "vq/A/a.json", "IF/.checkpoints/a.json"):
        put(tmp_path, name, "")
    (tmp_path / "IF" / "Empty").mkdir()
    found = find_recorded_answers(tmp_path, ["IF", "VQ"], ["a", "b"], only_models=["A"])
    assert found.ignored == ("vq", "IF/A/b.JSON")
    with pytest.raises(CrevalError, match="no file of model 'Empty'"):
        find_recorded_answers(tmp_path, ["IF", "VQ"], ["a", "b"])


def test_folders_without_answers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="not a folder of recorded answers"):
        find_recorded_answers(tmp_path / "absent", ["IF"], ["a"])
    with pytest.raises(CrevalError, match="a folder for each metric"):
        find_recorded_answers(tmp_path, ["IF"], ["a"])
    (tmp_path / "IF").mkdir()
    with pytest.raises(CrevalError, match="contains no answers"):
        find_recorded_answers(tmp_path, ["IF"], ["a"])
    put(tmp_path, "IF/A/other.json", "{}")
    with pytest.raises(CrevalError, match="no file of model 'A'"):
        find_recorded_answers(tmp_path, ["IF"], ["a"])


def test_both_forms_are_read(tmp_path: Path) -> None:
    for name, content in (("IF/A/a.json", parsed("Yes", "No")), ("IF/A/a.txt", RAW)):
        file = put(tmp_path, name, content)
        reply, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
        assert [verdict.value for verdict in verdicts] == [1.0, 0.0]
        assert reply.origin == name
        assert reply.text == (RAW if name.endswith("txt") else None)


def test_the_scripts_marks_for_no_answer_are_not_answers(tmp_path: Path) -> None:
    for mark in ("未找到对应回答", "don't find model answers", ""):
        file = put(tmp_path, "IF/A/a.json", parsed(mark, "N/A"))
        _, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
        assert [verdict.status for verdict in verdicts] == [VerdictStatus.MISSING, VerdictStatus.INAPPLICABLE]
        assert [verdict.raw_answer for verdict in verdicts] == ["", "N/A"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (parsed(error="the call failed"), "the call failed"),
        ('{"questions": [', "not valid JSON"),
        ("", "not valid JSON"),
        ("null", "contains no answers"),
        ("{}", "contains no answers"),
    ],
)
def test_a_file_without_answers_has_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    file = put(tmp_path, "IF/A/a.json", content)
    reply, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
    assert reply.status is VerdictStatus.FAILED
    assert {verdict.status for verdict in verdicts} == {VerdictStatus.FAILED}
    assert all(reason in verdict.explanation for verdict in verdicts)


def test_other_json_is_read_as_a_reply(tmp_path: Path) -> None:
    file = put(tmp_path, "IF/A/a.json", '{"Q2": "No", "Q1": "Yes"}')
    _, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
    assert [verdict.value for verdict in verdicts] == [1.0, 0.0]
    file = put(tmp_path, "IF/A/a.json", parsed("Yes"))
    _, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
    assert [verdict.value for verdict in verdicts] == [1.0, None], "one question fewer than asked"


def test_answers_to_other_questions_are_ignored(tmp_path: Path) -> None:
    other = parsed("Yes", "No").replace("Is it 1?", "Were the dogs blue?")
    file = put(tmp_path, "IF/A/a.json", other.replace("Is it 2?", "Is it 1?"))
    _, verdicts = read_recorded_answers(tmp_path, file, QUESTIONS)
    assert [verdict.value for verdict in verdicts] == [None, None], "other words, another's words"


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "IF" / "A").mkdir(parents=True)
    gone = RecordedFile("IF", "A", "a", "a.json")
    _, verdicts = read_recorded_answers(tmp_path, gone, QUESTIONS)
    assert "cannot be read" in verdicts[0].explanation
