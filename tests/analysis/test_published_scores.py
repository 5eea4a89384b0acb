"""Tests of published numbers next to a run: matching of models, marks, and no part in rankings and tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import creval as package
from creval.analysis.published_scores import find_published_scores, publications
from creval.analysis.scoring import score
from creval.core.errors import CrevalError
from creval.reporting import plots
from creval.store import open_run
from tests.commands import creval, parsed, right, wrong


@pytest.fixture
def run(tmp_path: Path, miniature_run: Path) -> Path:
    """Return a run of three models, one of which is labelled with a published name."""
    folder = Path(shutil.copytree(miniature_run, tmp_path / "run"))
    package.label(folder, {"Careful": "seedream-4.0"})
    return folder


def scored(run: Path, *arguments: str) -> str:
    return right("score", run, "--published", "--resamples", 100, *arguments)


def test_a_label_matches_and_the_published_value_is_the_papers(run: Path) -> None:
    found: dict[str, Any] = json.loads(scored(run, "--by", "overall", "--json"))
    beside = found["published"]
    assert beside["matched"] == {"Careful": "Seedream 4.0"}
    (cell,) = [c for c in beside["cells"] if (c["model"], c["metric"]) == ("Seedream 4.0", "S")]
    assert (cell["value"], cell["table"], cell["judge"], cell["subset"]) == (83.43, "Table 2", "GPT-4o", "paper")
    assert cell["here"] == {"Careful": found["models"]["Careful"]["overall"]["S"]["value"]}
    assert len({c["model"] for c in beside["cells"]}) == 13


def test_published_numbers_change_no_score_rank_or_test(run: Path) -> None:
    both = [parsed("score", run, "--resamples", 100, *more) for more in ((), ("--published",))]
    beside = both[1].pop("published")
    assert beside["paper"] == "Wang et al. 2026"
    for of in both:
        of.pop("sentences")
    assert both[0] == both[1]
    assert all({"Careful", "Follower", "Keeper"} >= {d["first"], d["second"]} for d in both[1]["differences"])


def test_the_terminal_lists_published_numbers_and_matched_models(run: Path) -> None:
    done = creval("score", run, "--published", "--by", "overall", "--resamples", 100)
    measured, published = done.stdout.split("Published, not measured here")
    assert "UniWorld-V1" not in measured
    assert "79.74" in published
    assert "Matched by name: seedream-4.0 as Seedream 4.0." in done.stderr
    assert "Not found among the published models: " in done.stderr
    assert "take no part in rankings and tests" in done.stderr
    assert "of the subset paper, but this table is not. Use --subset" in done.stderr


def test_every_csv_row_names_its_source(run: Path) -> None:
    head, *rows = scored(run, "--by", "overall", "--csv").splitlines()
    assert head.endswith(",source")
    assert {row.rpartition(",")[2] for row in rows[:12]} == {"this run"}
    assert len(rows) == 3 * 4 + 13 * 4
    assert all('"published: Wang et al. 2026, arXiv 2603.26174, Table 2' in row for row in rows[12:])


@pytest.mark.parametrize("form", ["--markdown", "--latex"])
def test_published_numbers_are_a_table_of_their_own(run: Path, form: str) -> None:
    text = scored(run, "--by", "overall,Surreal Fantasy", form)
    measured, overall, dimension = text.split("Published, not measured here")
    assert ("27.72" in measured, "27.72" in overall, "27.72" in dimension) == (False, False, True)
    assert "83.43 (here" in overall.replace(r"{\scriptsize ", "")


def test_report_and_plots_mark_them(run: Path, tmp_path: Path) -> None:
    page = package.report(run, tmp_path / "report.html", published=True, samples=0, resamples=100).read_text()
    assert "<h2>Published numbers</h2>" in page
    assert "Open diamonds: published (Wang et al. 2026, arXiv 2603.26174, judge GPT-4o)" in page
    assert "Published" not in package.report(run, tmp_path / "without.html", samples=0, resamples=100).read_text()
    figure = package.plot(run, "forest", published=True, resamples=100)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == 3 + 12
    assert all("(published)" in name.replace("\n", " ") for name in names[3:])
    for kind in ("plane", "groups"):
        assert "not measured here" in plots.caption(package.plot(run, kind, published=True, resamples=100))


def test_a_plot_without_scores_of_models_refuses(run: Path) -> None:
    with pytest.raises(CrevalError, match="`published` is for forest, plane, groups, complexity, not for radar"):
        package.plot(run, "radar", published=True)


def test_a_subset_that_is_published_selects_its_numbers(miniature_run: Path) -> None:
    with open_run(miniature_run) as opened:
        found = find_published_scores(opened, score(opened, resamples=100))
    assert found.subsets == ("paper",)
    assert {one.subset for one in found.series} == {"paper"}
    assert not found.matched


def test_a_benchmark_without_published_numbers_says_so() -> None:
    assert "there is no benchmark with published numbers 'own-samples'" in wrong("published", "own-samples")


def test_the_command_lists_filters_and_prints_csv() -> None:
    assert set(parsed("published")["benchmarks"]) == {"creval", "complex-edit", "complexbench-edit", "ice-bench"}
    overview = creval("published", "creval")
    assert "FLUX.1 Kontext [pro]" in overview.stdout
    assert "13K questions" in overview.stderr
    chosen = parsed("published", "ice-bench", "--tables", "supplement 8", "--models", "ace++", "--metrics", "vllm-qa")
    assert [value["value"] for value in chosen["values"]] == [0.91, 0.531, 0.785, 0.312, 0.834, 0.704]
    rows = right("published", "complex-edit", "--tables", "9", "--csv").splitlines()
    assert rows[0] == "benchmark,table,model,judge,variant,subset,level,group,metric,value,page"
    assert "complex-edit,Table 9,AnyEdit,a person,,50 samples of test_real,complexity,C8" in rows[3]
    assert "give its name" in wrong("published", "--csv")
    assert "choose one of --json and --csv" in wrong("published", "creval", "--json", "--csv")


def test_the_function_returns_a_frame() -> None:
    frame = package.published("creval", tables=["2"], metrics=["S"]).frame()
    assert frame.height == 13 * 4
    assert package.published().frame().height == sum(len(one.values) for one in publications().values())
    with pytest.raises(CrevalError, match="select values of one benchmark"):
        package.published(metrics=["S"])
