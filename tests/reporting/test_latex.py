"""Tests of the content and the width of LaTeX tables."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from creval.reporting import tables
from creval.reporting.latex import LatexCells, latex_table
from creval.stats.scorecard import Scorecard, build_scorecard
from tests.commands import creval
from tests.stats.made import table

ENGINE = next(filter(None, map(shutil.which, ("pdflatex", "xelatex", "lualatex"))), None)
NAMED = {"open": ["Qwen-Image-Edit", "FLUX.1-Kontext"], "closed": ["GPT-Image-1"]}
GROUPS = {"open": ["B", "C"], "closed & co_": ["A"]}


@pytest.fixture
def card() -> Scorecard:
    """Return a card of three models on 45 samples in nine dimensions. The last model lacks every tenth sample."""
    values = np.random.default_rng(2).normal(70, 12, (3, 45, 3)).clip(0, 100)
    values[2, ::10] = np.nan
    return build_scorecard(table(values, [n % 9 for n in range(45)]), resamples=200)


def test_values_alone_and_half_widths(card: Scorecard) -> None:
    shown = tables.select_groups(card, ["overall"])
    cell = card.cell("A", "IF")
    assert cell.low is not None
    assert cell.high is not None
    values = latex_table(card, shown, {}, cells=LatexCells.VALUES)
    assert f"{cell.value:.2f}" in values
    assert "scriptsize" not in values
    compact = latex_table(card, shown, {}, cells=LatexCells.COMPACT)
    assert rf"{{\scriptsize$\pm${(cell.high - cell.low) / 2:.1f}}}" in compact
    assert "100" not in compact.replace(r"\textbf{100", ""), "full coverage is not shown"
    last = next(line for line in compact.splitlines() if line.startswith("C &"))
    assert r"(88.8 \%)" in last, "40 of 45 samples, rounded down"


def test_groups_of_samples_and_of_models_are_headings(card: Scorecard) -> None:
    shown = tables.select_groups(card, ["category"])
    lines = latex_table(card, shown, GROUPS, cells=LatexCells.VALUES).splitlines()
    assert lines[2] == r"\toprule"
    heads = [line for line in lines if "multicolumn" in line]
    assert heads[:3] == [
        r"\multicolumn{5}{@{}l}{\textit{Customization}} \\",
        r"\multicolumn{5}{@{}l}{\textit{open}} \\",
        r"\multicolumn{5}{@{}l}{\textit{closed \& co\_}} \\",
    ]
    assert len(heads) == 3 * (1 + 2) + 1, "the last is the note on values"
    wide = latex_table(card, shown, GROUPS, wide=True, cells=LatexCells.VALUES)
    assert r"\cmidrule(lr){2-5}\cmidrule(lr){6-9}\cmidrule(lr){10-13}" in wide


def test_groups_of_models_keep_their_names_in_every_format(miniature_run: Path) -> None:
    given = ("score", miniature_run, "--groups", "open=Keeper,closed=Careful", "--resamples", 100, "--by", "overall")
    assert "*open*" in creval(*given, "--markdown").stdout
    assert r"\textit{open}" in creval(*given, "--latex").stdout
    rows = list(csv.DictReader(io.StringIO(creval(*given, "--csv").stdout)))
    assert {(row["model"], row["model_group"]) for row in rows} == {
        ("Keeper", "open"),
        ("Careful", "closed"),
        ("Follower", "others"),
        ("mean of open", "open"),
        ("mean of closed", "closed"),
        ("open minus closed", ""),
    }
    assert json.loads(creval(*given, "--json").stdout)["model_groups"] == {"open": ["Keeper"], "closed": ["Careful"]}
    assert "open" in creval(*given).stdout
    assert creval("score", miniature_run, "--compact").returncode == 2
    assert creval("score", miniature_run, "--latex", "--compact", "--values-only").returncode == 2


@pytest.mark.skipif(ENGINE is None, reason="there is no TeX engine")
def test_tables_fit_a_column_and_a_page(card: Scorecard, tmp_path: Path) -> None:
    names = ("Qwen-Image-Edit", "GPT-Image-1", "FLUX.1-Kontext")
    full = replace(card.table, models=names, scored=card.table.total.copy(), unanswered=dict.fromkeys(names, 0))
    card = build_scorecard(full, resamples=200)
    overall, by_category = (tables.select_groups(card, [level]) for level in ("overall", "category"))
    in_column = [
        latex_table(card, overall, NAMED, cells=LatexCells.VALUES),
        latex_table(card, overall, {}, cells=LatexCells.COMPACT),
        latex_table(card, by_category, NAMED, cells=LatexCells.COMPACT),
    ]
    on_page = [latex_table(card, by_category, NAMED, wide=True, cells=LatexCells.VALUES)]
    boxes = "".join(
        f"\\sbox0{{\\small {made}}}\\typeout{{FOUND \\the\\wd0 \\space OF \\the\\{room}}}\n"
        for room, several in (("columnwidth", in_column), ("textwidth", on_page))
        for made in several
    )
    page = f"\\documentclass[twocolumn]{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{boxes}\n"
    (tmp_path / "page.tex").write_text(page + "x\\end{document}\n")
    command = [str(ENGINE), "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    widths = re.findall(r"FOUND ([0-9.]+)pt\s+OF ([0-9.]+)pt", done.stdout)
    assert len(widths) == 4
    for width, room in widths:
        assert float(width) <= float(room)
