"""Tests that an export holds the data of its run, without formulas or control characters."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polars
import pytest

from creval.analysis.scoring import score
from creval.benchmarks import open_benchmark
from creval.core.errors import CrevalError
from creval.judging.replay_run import replay
from creval.reporting.export import MARKER, export_run, frames
from creval.reporting.export.files import sanitise_frame, write_frames
from creval.reporting.export.readme import COLUMNS, FILES
from creval.stats.scorecard import SAMPLE_LEVEL
from creval.store import Run, open_run
from miniature import write_miniature

EVIL = ("=1+1", "@SUM(A1)", "-2+3", "[2pt]*", "$x$_{^~\\", "a|b`<i>&amp;")


@pytest.fixture
def exported(small_run: Run, tmp_path: Path) -> Path:
    export_run(small_run, score(small_run, resamples=200), tmp_path / "out", resamples=200)
    return tmp_path / "out"


def test_the_verdicts_are_the_runs_answers(small_run: Run, exported: Path) -> None:
    frame = polars.read_parquet(exported / "verdicts.parquet")
    found = frame.select("model", "sample", "draw", "probe", "status", "value", "said", "explanation")
    expected = [(*a.edit, a.probe, a.status, a.value, a.raw_answer, a.explanation) for a in small_run.answers()]
    assert found.rows() == expected
    questions = {(s, q.id): q for s, several in small_run.probes.items() for q in several}
    for row in frame.head(50).iter_rows(named=True):
        question = questions[row["sample"], row["probe"]]
        assert row["metric"] == question.metric
        assert row["question"] == question.text  # type: ignore[union-attr]
        assert row["right"] == (row["said"] == question.reference)  # type: ignore[union-attr]
        assert row["dimension"] == small_run.samples[row["sample"]].tags["dimension"]
    assert set(frame["judge"]) == {"recorded:answers"}
    text = (exported / "verdicts.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["question"] for row in rows] == frame["question"].to_list()
    assert [float(row["value"]) for row in rows] == frame["value"].to_list()


def test_the_scores_are_the_scorecards_cells(small_run: Run, exported: Path) -> None:
    card = score(small_run, resamples=200)
    scores = polars.read_parquet(exported / "scores.parquet")
    assert len(scores) == (1 + 3 + 9) * 3 * 4
    for row in scores.iter_rows(named=True):
        cell = card.cell(row["model"], row["metric"], row["group"], row["level"])
        assert {name: row[name] for name in cell.to_dict()} == cell.to_dict()
        assert row["coverage"] == cell.scored / cell.total
    samples = polars.read_parquet(exported / "sample_scores.parquet")
    assert len(samples) == 18 * 3 * 4
    for row in samples.iter_rows(named=True):
        cell = card.cell(row["model"], row["metric"], row["sample"], SAMPLE_LEVEL)
        assert (row["value"], row["scored"], row["total"]) == (cell.value, cell.scored, cell.total)
    read = polars.read_csv(exported / "scores.csv")
    assert read["value"].to_list() == pytest.approx(scores["value"].to_list())


def test_the_leaderboard_has_ranks_scores_and_weights(small_run: Run, exported: Path) -> None:
    card = score(small_run, resamples=200)
    board = json.loads((exported / "leaderboard.json").read_text())
    assert (board["schema"], board["version"]) == ("creval-leaderboard", 1)
    assert board["ranking"] == "S"
    assert board["weights"] == {"IF": 0.4, "VC": 0.4, "VQ": 0.2}
    assert [model["name"] for model in board["models"]] == list(card.models)
    first = board["models"][0]
    assert first["overall"]["S"] == card.cell(first["name"], "S").to_dict()
    assert first["places"] == list(card.rank_ranges[first["name"]])
    assert set(first["groups"]) == {"categories", "dimensions"}
    assert len(first["groups"]["dimensions"]) == 9


def test_every_file_and_column_is_described(exported: Path) -> None:
    page = (exported / "README.md").read_text()
    names = (exported / MARKER).read_text().splitlines()
    there = {p.relative_to(exported).as_posix() for p in exported.rglob("*") if p.is_file()}
    assert there == {*names, MARKER}
    for name in set(names) - {"README.md"}:
        assert f"`{name}`" in page
    for name in FILES.keys() - {"answers", "sources"}:
        for column in polars.read_parquet_schema(exported / f"{name}.parquet"):
            assert column in COLUMNS or column in ("category", "dimension")


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    bench = write_miniature(tmp_path / "bench", samples=9, models=dict.fromkeys(EVIL, (0.7,) * 3))
    replay(open_benchmark(bench), bench / "answers", tmp_path / "run")
    with open_run(tmp_path / "run") as run:
        export_run(run, score(run, resamples=100), tmp_path / "out", resamples=100)
    frame = polars.read_parquet(tmp_path / "out" / "verdicts.parquet")
    assert set(frame["model"]) == set(EVIL)
    for path in (tmp_path / "out").glob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            for cell in row:
                formula = cell.startswith(("=", "+", "-", "@"))
                assert not formula or re.fullmatch(r"[+-][\d.eE+-]+", cell)
    tex = (tmp_path / "out" / "tables" / "overall.tex").read_text()
    body = tex[tex.index("\\begin") :]
    plain = re.sub(r"\\[\\{}$&%#_]", "", body)
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"[$~^#]", plain.replace("\\textasciitilde{}", ""))
    for line in body.split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines():
        assert line.count(" & ") == 4
        assert not line.startswith(("[", "*"))
    rows = (tmp_path / "out" / "tables" / "overall.md").read_text().splitlines()[:8]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def test_formulas_get_an_apostrophe_and_numbers_do_not() -> None:
    texts = ["=1+1", "-3", "+4.5e-3", "-x", "@a", "'=a", "it's", "", None, "\tx", "a\x1b[31m"]
    frame = polars.DataFrame({"text": texts, "number": [-1.5] * len(texts)})
    found = sanitise_frame(frame)
    assert found["text"].to_list() == [
        "'=1+1",
        "-3",
        "+4.5e-3",
        "'-x",
        "'@a",
        "''=a",
        "it's",
        "",
        None,
        "'\tx",
        "a\ufffd[31m",
    ]
    assert found["number"].to_list() == frame["number"].to_list()


def test_frames_are_concatenated_in_one_file(tmp_path: Path) -> None:
    parts = [polars.DataFrame({"n": [1, 2], "t": ["a", None]}), polars.DataFrame({"n": [3], "t": ["c"]})]
    seen: list[int] = []
    write_frames(parts, tmp_path, "all", seen.append)
    assert polars.read_parquet(tmp_path / "all.parquet").rows() == [(1, "a"), (2, None), (3, "c")]
    assert (tmp_path / "all.csv").read_text() == "n,t\n1,a\n2,\n3,c\n"
    assert seen == [2, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"all.parquet", "all.csv"}


def test_chunks_do_not_change_the_result(small_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    card = score(small_run, resamples=100, models=("Keeper",))
    whole = polars.concat(frames.iter_verdict_frames(small_run, card))
    monkeypatch.setattr(frames, "_CHUNK", 100)
    chunks = list(frames.iter_verdict_frames(small_run, card))
    assert len(chunks) > 5
    assert polars.concat(chunks).equals(whole)
    assert set(whole["model"]) == {"Keeper"}


def test_only_an_earlier_export_is_replaced(small_run: Run, tmp_path: Path) -> None:
    card = score(small_run, resamples=100)
    out = tmp_path / "out"
    export_run(small_run, card, out, resamples=100)
    (out / "mine.txt").write_text("mine")
    (out / MARKER).write_text((out / MARKER).read_text() + "tables/old.md\n../mine.txt\n")
    (out / "tables" / "old.md").write_text("from before")
    (tmp_path / "mine.txt").write_text("mine")
    export_run(small_run, card, out, resamples=100)
    assert not (out / "tables" / "old.md").exists()
    assert (out / "mine.txt").read_text() == (tmp_path / "mine.txt").read_text() == "mine"
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "README.md").write_text("my thesis")
    with pytest.raises(CrevalError, match="is not empty and is not an export"):
        export_run(small_run, card, other, resamples=100)
    assert [path.name for path in other.iterdir()] == ["README.md"]
    export_run(small_run, card, other, resamples=100, force=True)
    assert "Exported by creval" in (other / "README.md").read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    with pytest.raises(CrevalError, match="is a file"):
        export_run(small_run, card, tmp_path / "mine.txt", resamples=100)
