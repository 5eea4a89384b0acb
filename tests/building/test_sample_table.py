"""Custom benchmarks, from images or from a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import creval
from creval.core.errors import CrevalError
from tests.benchmarks.own_samples.tables import WEATHER, write_images, write_samples


def table_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_from_a_folder_of_images(tmp_path: Path) -> None:
    write_images(tmp_path / "pics", ["b.png", "a.png"])
    write_images(tmp_path / "pics" / "more", ["a.png"])
    found = creval.init_samples(tmp_path / "bench", images=tmp_path / "pics", questions=True)
    assert table_rows(tmp_path / "bench" / "samples.csv") == [
        {"id": "a", "source": "images/a.png", "instruction": ""},
        {"id": "b", "source": "images/b.png", "instruction": ""},
        {"id": "a-2", "source": "images/a-2.png", "instruction": ""},
    ]
    assert (tmp_path / "bench" / "images" / "a-2.png").read_bytes() == (tmp_path / "pics/more/a.png").read_bytes()
    assert [row["sample"] for row in table_rows(tmp_path / "bench" / "questions.csv")] == ["a", "b", "a-2"]
    assert found.value.issue_counts["no instruction"] == 3
    said = " ".join(found.sentences)
    assert "0 of 3 rows can be used, 3 images copied" in said
    assert (
        "3 of 3 rows in samples.csv: no instruction (line 2, 3, 4): write what to change in the column 'instruction'"
        in said
    )
    assert (
        "3 rows in questions.csv: question without a sample (line 2, 3, 4): the row of its sample is left out" in said
    )
    assert "creval init samples" in found.sentences[-1]


def test_images_of_one_name_in_folders_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_images(Path("pics"), ["a.png"])
    write_images(Path("pics/more"), ["a.png"], shade=90)
    creval.init_samples("bench", images="pics")
    assert Path("bench/images/a-2.png").read_bytes() == Path("pics/more/a.png").read_bytes()
    assert Path("bench/images/a.png").read_bytes() == Path("pics/a.png").read_bytes()


def test_images_that_are_there_already_are_not_copied(tmp_path: Path) -> None:
    write_images(tmp_path / "bench" / "photos", ["a.png"])
    found = creval.init_samples(tmp_path / "bench")
    assert found.value.copied == 0
    assert [row["source"] for row in table_rows(tmp_path / "bench" / "samples.csv")] == ["photos/a.png"]


def test_a_table_is_taken_over_with_its_images(tmp_path: Path) -> None:
    write_images(tmp_path / "pics", ["cat0.png", "cat1.png", "m.png"])
    (tmp_path / "mine.csv").write_bytes(
        "\ufeffFile_Name;Prompt;Mask;References;Weather\r\n"
        'cat0;"Red; please";m.png;cat1.png|cat0.png;rain\r\n'
        "cat0.png;Blue;;;sun\r\n"
        "gone.png;Green;;;sun\r\n"
        "a;b;c;d;e;f\r\n".encode()
    )
    found = creval.init_samples(tmp_path / "bench", images=tmp_path / "pics", table=tmp_path / "mine.csv", name="Mine")
    empty = {"mask": "", "references": "", "weather": "sun"}
    assert table_rows(tmp_path / "bench" / "samples.csv") == [
        {
            "id": "cat0",
            "source": "images/cat0.png",
            "instruction": "Red; please",
            "mask": "images/m.png",
            "references": "images/cat1.png|images/cat0.png",
            "weather": "rain",
        },
        {"id": "cat0-2", "source": "images/cat0.png", "instruction": "Blue", **empty},
        {"id": "gone", "source": "gone.png", "instruction": "Green", **empty},
    ]
    assert found.to_json()["unreadable"][0].startswith("mine.csv, line 5: it has 6 cells")
    assert creval.open_benchmark(tmp_path / "bench").title == "Mine"


def test_a_table_cannot_fetch_images_from_elsewhere(tmp_path: Path) -> None:
    write_images(tmp_path / "private", ["secret.png"])
    (tmp_path / "work").mkdir()
    table = tmp_path / "work" / "mine.csv"
    table.write_text(f"source,instruction\n{tmp_path}/private/secret.png,Red\n../private/secret.png,Blue\n")
    found = creval.init_samples(tmp_path / "bench", table=table)
    assert found.value.copied == 0
    assert found.value.issue_counts == {"image outside": 2}


def test_lines_of_json_stay_lines_of_json(tmp_path: Path) -> None:
    write_images(tmp_path, ["a.png"])
    row = {"image": "a.png", "prompt": "Red", "questions": [{"question": "Is it red?", "metric": "IF"}]}
    (tmp_path / "mine.jsonl").write_text(json.dumps(row))
    found = creval.init_samples(tmp_path / "bench", table=tmp_path / "mine.jsonl")
    (sample,) = found.value.samples
    assert (sample.id, sample.instruction, sample.questions[0].metric) == ("a", "Red", "IF")
    assert "--protocol" not in found.sentences[-1]


def test_a_second_time_checks_and_changes_nothing(tmp_path: Path) -> None:
    folder = write_samples(tmp_path / "bench", WEATHER + "cat9.png,Make it red,rain,1\n")
    before = (folder / "samples.csv").read_bytes()
    found = creval.init_samples(folder)
    assert (folder / "samples.csv").read_bytes() == before
    assert "samples.csv is checked: 7 of 7 rows can be used." in found.sentences[0]
    assert "missing source (line 8)" in found.sentences[1]
    with pytest.raises(CrevalError, match=r"already contains samples\.csv\. Leave out `images`"):
        creval.init_samples(folder, images=folder)


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("Bild,Anweisung\na.png,Rot\n")
    with pytest.raises(CrevalError, match=r"neither a column 'source' nor 'instruction', but bild, anweisung\."):
        creval.init_samples(tmp_path / "bench", table=tmp_path / "other.csv")
    with pytest.raises(CrevalError, match="give the folder"):
        creval.init_samples("")
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "does not exist. Give `images` FOLDER or `table` FILE"),
        ({"images": "nowhere"}, "is not a folder"),
        ({"table": "nowhere.csv"}, "cannot be read"),
        ({"name": "x" * 101}, "at most 100 are allowed"),
    ],
)
def test_invalid_inputs_are_errors(given: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match=said):
        creval.init_samples(tmp_path / "bench", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "bench").exists()
