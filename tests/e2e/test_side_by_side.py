"""Several runs and score files side by side: other judges, metrics and people."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from creval.benchmarks import open_benchmark
from creval.judging.replay_run import replay
from miniature import write_miniature
from tests.commands import creval, parsed, right, wrong


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same samples by another judge, whose answers are worse."""
    bench = write_miniature(
        tmp_path_factory.mktemp("other"),
        samples=18,
        seed=9,
        models={"Careful": (0.6, 0.6, 0.6), "Keeper": (0.8, 0.8, 0.8), "Follower": (0.7, 0.7, 0.7)},
    )
    run = tmp_path_factory.mktemp("other-run")
    replay(open_benchmark(bench), bench / "answers", run)
    return run


def kendall(x: list[float], y: list[float]) -> float:
    """Return Kendall's tau without ties, by counting pairs."""
    signs = [np.sign((x[i] - x[j]) * (y[i] - y[j])) for i, j in combinations(range(len(x)), 2)]
    return float(np.mean(signs))


def test_scores_of_two_runs_and_their_order(miniature_run: Path, other_run: Path) -> None:
    found = parsed("score", f"first={miniature_run}", f"second={other_run}")
    alone = [parsed("score", run)["models"] for run in (miniature_run, other_run)]
    first, second = found["sources"]
    assert (first["source"], second["source"]) == ("first", "second")
    for source, own in zip(found["sources"], alone, strict=True):
        for name, cell in source["models"].items():
            assert cell["value"] == own[name]["overall"]["S"]["value"]
            assert (cell["low"], cell["high"]) == (own[name]["overall"]["S"]["low"], own[name]["overall"]["S"]["high"])
    (pair,) = found["pairs"]
    common = [name for name in first["models"] if name in second["models"]]
    assert sorted(pair["models"]) == sorted(common)
    assert len(common) >= 3
    values = [[source["models"][name]["value"] for name in common] for source in (first, second)]
    assert pair["over_models"]["kendall"]["value"] == pytest.approx(kendall(*values))
    reversed_pairs = {frozenset((one["better"], one["worse"])) for one in pair["reversed"]}
    expected = {
        frozenset((common[i], common[j]))
        for i, j in combinations(range(len(common)), 2)
        if (values[0][i] - values[0][j]) * (values[1][i] - values[1][j]) < 0
    }
    assert reversed_pairs == expected


def test_the_difference_of_two_models_in_each_run(miniature_run: Path, other_run: Path) -> None:
    found = parsed("compare", miniature_run, f"other={other_run}", "Keeper", "Careful")
    alone = parsed("compare", miniature_run, "Keeper", "Careful")["differences"]["overall"]["S"]
    first, second = found["sources"]
    assert (first["value"], first["low"]) == (pytest.approx(alone["value"]), pytest.approx(alone["low"], abs=0.5))
    assert second["source"] == "other"
    assert "Keeper minus Careful" in right("compare", miniature_run, f"other={other_run}", "Keeper", "Careful")
    assert "given twice" in wrong("compare", miniature_run, other_run, "Keeper", "Keeper")
    assert "did you mean 'Keeper'" in wrong("compare", miniature_run, other_run, "Keper", "Careful")


def test_what_export_and_measure_wrote_are_sources(miniature: Path, miniature_run: Path, tmp_path: Path) -> None:
    right("export", miniature_run, "--out", tmp_path / "exported")
    folders = sorted((miniature / "edits").iterdir())
    edits = [part for folder in folders for part in ("--edits", folder)]
    for suffix in ("csv", "parquet", "json"):
        file = tmp_path / f"values.{suffix}"
        right("measure", "l1_src", "--bench", miniature, *edits, "--out", file)
        found = parsed("score", miniature_run, tmp_path / "exported", file)
        run, exported, measured = found["sources"]
        # S of a sample is linear in its metrics, but the exported file lacks the groups over which S is averaged.
        assert exported["metric"] == "S"
        assert exported["models"].keys() == run["models"].keys()
        assert (measured["metric"], measured["higher_is_better"]) == ("l1_src", False)
        best = min(measured["models"].items(), key=lambda entry: entry[1]["value"])
        assert best[1]["rank"] == 1
    text = right("score", miniature_run, tmp_path / "exported", "--markdown", "--values-only")
    assert "[" not in text.partition("\n\n")[0], "no intervals in the table of scores"
    assert "Values only" in text


def test_metrics_of_runs_and_formats(miniature_run: Path, other_run: Path) -> None:
    runs = (f"a={miniature_run}", f"b={other_run}")
    found = parsed("score", *runs, "--metrics", "IF,VC")
    assert [source["source"] for source in found["sources"]] == ["a: IF", "a: VC", "b: IF", "b: VC"]
    rows = list(csv.DictReader(right("score", *runs, "--csv").splitlines()))
    assert {row["source"] for row in rows} == {"a", "b"}
    assert "\\toprule" in right("score", *runs, "--latex")


def test_metrics_of_one_run_are_correlated_with_each_other(miniature_run: Path) -> None:
    """IF with VC, over models and over samples."""
    found = parsed("score", miniature_run, "--metrics", "IF,VC")
    first, second = found["sources"]
    assert (first["source"], second["source"]) == ("IF", "VC")
    (pair,) = found["pairs"]
    names = pair["models"]
    values = [[source["models"][name]["value"] for name in names] for source in (first, second)]
    assert pair["over_models"]["pearson"]["value"] == pytest.approx(np.corrcoef(values)[0, 1])
    from creval.analysis.scoring import build_score_table
    from creval.store import open_run

    with open_run(miniature_run) as run:
        table = build_score_table(run)
    spearman = pytest.importorskip("scipy.stats").spearmanr
    each = [spearman(table.values[at, :, 0], table.values[at, :, 1]).statistic for at in range(len(table.models))]
    assert pair["over_samples"]["spearman"]["value"] == pytest.approx(np.tanh(np.mean(np.arctanh(each))))


def test_wrong_input_gets_a_sentence(miniature_run: Path, other_run: Path, tmp_path: Path) -> None:
    assert "needs a single run" in wrong("score", miniature_run, other_run, "--by", "dimension")
    assert "--lower is for score files" in wrong("score", miniature_run, "--lower", "IF")
    assert "same name" in wrong("score", f"a={miniature_run}", f"a={other_run}")
    assert "does not exist" in wrong("score", miniature_run, tmp_path / "absent")
    assert "has a metric named in --metrics: XY" in wrong("score", miniature_run, other_run, "--metrics", "XY")
    assert "no metric 'x'" in wrong("score", miniature_run, other_run, "--lower", "x")
    some = tmp_path / "some.csv"
    some.write_text("sample,model,metric,score\ns1,A,x,1\ns2,A,x,much\ns3,B,x,2\n")
    assert "1 row left out: the score is not a number (1, first in line 3)" in creval("score", some).stderr
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    assert "lacks the columns of scores" in wrong("score", miniature_run, bad)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    assert "cannot be read as Parquet" in wrong("score", miniature_run, tmp_path / "bad.parquet")
    (tmp_path / "bad.json").write_text('{"a": 1}')
    assert "not a JSON list" in wrong("score", miniature_run, tmp_path / "bad.json")
    assert "kind sources" in wrong("plot", miniature_run, other_run, "forest", "--out", tmp_path / "x.png")


def test_report_plot_and_export_of_two_runs(miniature_run: Path, other_run: Path, tmp_path: Path) -> None:
    right("report", miniature_run, f"other={other_run}", "--out", tmp_path / "page.html", "--samples", "0")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'id="sources"' in page
    assert "other" in page
    right("plot", miniature_run, other_run, "sources", "--out", tmp_path / "plot.svg")
    assert "mean rank" in (tmp_path / "plot.svg").read_text("utf-8")
    right("export", miniature_run, f"other={other_run}", "--out", tmp_path / "out")
    rows = list(csv.DictReader((tmp_path / "out" / "sources.csv").read_text("utf-8").splitlines()))
    assert {row["source"] for row in rows} >= {"other"}
    assert "`tables/sources.md`" in (tmp_path / "out" / "README.md").read_text("utf-8")
    content = json.loads((tmp_path / "out" / "sources.json").read_text("utf-8"))
    assert len(content["pairs"]) == 1


def ratings_file(path: Path, samples: list[str], marks: dict[str, float]) -> Path:
    """Write ratings from 0 to 5 that vary by sample around each model's mark."""
    lines = ["rater,sample,model,metric,rating,scale"]
    for n, sample in enumerate(samples):
        for model, mark in marks.items():
            lines.append(f"ann,{sample},{model},overall,{mark + (n % 3 - 1) * 0.5},0-5")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def samples_of(run: Path) -> list[str]:
    from creval.store import open_run

    with open_run(run) as opened:
        return list(opened.samples)


def test_several_judges_against_people(miniature_run: Path, other_run: Path, tmp_path: Path) -> None:
    """The layout of CREval's Table 3: models' scores by several judges beside people's, with rank agreement."""
    people = ratings_file(
        tmp_path / "people.csv", samples_of(miniature_run), {"Keeper": 2, "Careful": 3, "Follower": 4}
    )
    found = parsed("score", f"gpt={miniature_run}", f"qwen={other_run}", f"people={people}")
    assert [source["source"] for source in found["sources"]] == ["gpt", "qwen", "people"]
    assert found["sources"][2]["models"]["Follower"]["value"] == pytest.approx(80.0)
    common = ["Keeper", "Careful", "Follower"]
    said = [2.0, 3.0, 4.0]
    for pair in found["pairs"]:
        if pair["second"] != "people":
            continue
        source = next(one for one in found["sources"] if one["source"] == pair["first"])
        scores = [source["models"][name]["value"] for name in common]
        assert pair["over_models"]["kendall"]["value"] == pytest.approx(kendall(scores, said))
    aligned = parsed("align", f"gpt={miniature_run}", f"qwen={other_run}", "--human", people)
    metrics = aligned["people"]["overall"]["metrics"]
    assert set(metrics) == {"gpt: S", "qwen: S"}
    (difference,) = aligned["people"]["overall"]["differences"]
    assert (difference["first"], difference["second"]) == ("gpt: S", "qwen: S")
    assert 0 < difference["p"] <= 1
    assert aligned["said"]["overall"]["models"]["Careful"]["rating"] == pytest.approx(3.0)


def test_people_without_a_run(tmp_path: Path) -> None:
    samples = [f"s{n}" for n in range(12)]
    people = ratings_file(tmp_path / "people.csv", samples, {"A": 2, "B": 4})
    found = parsed("align", "--human", people)["people"]["overall"]
    assert {name: cell["rating"] for name, cell in found["models"].items()} == {"A": 2.0, "B": 4.0}
    assert {name: cell["value"] for name, cell in found["models"].items()} == {"A": 40.0, "B": 80.0}
    text = right("align", "--human", people)
    assert "mean, 0 to 5" in text
    choices = tmp_path / "choices.csv"
    lines = ["rater,sample,first,second,metric,choice"]
    lines += [f"ann,s{n},A,B,overall,{'A' if n < 9 else 'tie' if n < 10 else 'B'}" for n in range(12)]
    choices.write_text("\n".join(lines) + "\n")
    models = parsed("align", "--human", choices)["people"]["overall"]["models"]
    assert models["A"]["won"]["value"] == pytest.approx(100 * 9.5 / 12)
    assert models["A"]["elo"]["value"] == pytest.approx(200 * np.log10(9.5 / 2.5))
    assert "need a run or scores" in wrong("align", "--human", people, "--strict")


def test_variants_of_a_judge_against_people(tmp_path: Path) -> None:
    """The layout of Complex-Edit's Table 2: a row for each way of scoring, a correlation for IF, IP and PQ."""
    generator = np.random.default_rng(4)
    samples = [f"s{n}" for n in range(60)]
    truth = {metric: generator.normal(size=(2, 60)) for metric in ("IF", "IP", "PQ")}
    lines = ["rater,sample,first,second,metric,choice"]
    choices = {}
    for metric, values in truth.items():
        apart = values[0] - values[1] + generator.normal(size=60)
        choices[metric] = np.where(np.abs(apart) < 0.3, 0, np.sign(apart))
        for sample, choice in zip(samples, choices[metric].astype(int), strict=True):
            lines.append(f"ann,{sample},A,B,{metric},{ {1: 'A', -1: 'B', 0: 'tie'}[int(choice)] }")
    people = tmp_path / "choices.csv"
    people.write_text("\n".join(lines) + "\n")
    scored = {}
    for variant, noise in (("rubric", 0.5), ("numeric", 3.0)):
        rows = ["sample,model,metric,score"]
        for metric, values in truth.items():
            scored[variant, metric] = values + noise * generator.normal(size=(2, 60))
            for at, model in enumerate("AB"):
                rows += [f"{s},{model},{metric},{v}" for s, v in zip(samples, scored[variant, metric][at], strict=True)]
        (tmp_path / f"{variant}.csv").write_text("\n".join(rows) + "\n")
    found = parsed("align", tmp_path / "rubric.csv", tmp_path / "numeric.csv", "--human", people)["people"]
    assert list(found) == ["IF", "IP", "PQ"]
    for metric, target in found.items():
        assert list(target["metrics"]) == [f"rubric: {metric}", f"numeric: {metric}"]
        for variant in ("rubric", "numeric"):
            values = scored[variant, metric]
            expected = np.corrcoef(choices[metric], values[0] - values[1])[0, 1]
            cell = target["metrics"][f"{variant}: {metric}"]["sample"]["pearson"]
            assert cell["value"] == pytest.approx(expected)
            assert cell["low"] < cell["value"] < cell["high"]
        (difference,) = target["differences"]
        both = [target["metrics"][f"{name}: {metric}"]["sample"]["spearman"]["value"] for name in ("rubric", "numeric")]
        assert difference["spearman"]["value"] == pytest.approx(both[0] - both[1])
        assert difference["p"] < 0.05, "noise of 0.5 against 3.0 on 60 samples"


def test_a_plane_of_any_two_metrics(miniature_run: Path, tmp_path: Path) -> None:
    right("plot", miniature_run, "plane", "--metrics", "VQ,VC", "--out", tmp_path / "plane.svg")
    text = (tmp_path / "plane.svg").read_text("utf-8")
    assert "VQ and VC of each model" in text
    assert "takes two metrics" in wrong("plot", miniature_run, "plane", "--metrics", "VQ", "--out", tmp_path / "x.svg")
    assert "no metric 'XY'" in wrong("plot", miniature_run, "plane", "--metrics", "VQ,XY", "--out", tmp_path / "x.svg")
