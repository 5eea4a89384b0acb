"""Tests of metric lists and measured values as tables, notes and rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path

import polars
import pytest
from rich.console import Console

from creval.analysis.measure_edits import MeasuredEdit, measure_edits
from creval.benchmarks import open_benchmark
from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.availability import MetricAvailability
from creval.metrics.base import MetricInfo, open_image_metrics
from creval.metrics.features import FeatureCache
from creval.reporting.commands.metrics_output import (
    measurements_output,
    metric_list_output,
    require_writable,
    write_measurements,
)
from creval.reporting.output import as_table_cell, rich_table

CLIP = MetricInfo("clip", "", (Metric("img", "", -1, 1), Metric("dir", "", -1, 1)), "")
GREY = MetricInfo("grey", "", (Metric("grey", "", 0, 1),), "")


def measured(sample: int, values: Mapping[str, float], reasons: Mapping[str, str] | None = None) -> MeasuredEdit:
    return MeasuredEdit(EditKey("A", str(sample), 0), str(sample), values, reasons or {})


def test_a_mean_of_some_edits_states_their_number() -> None:
    done = [measured(1, {"img": 0.5, "dir": 0.1}), measured(2, {"img": 0.7}), measured(3, {"img": 0.6})]
    (grid,) = measurements_output(done, [CLIP]).tables
    (row,) = grid.rows
    assert " of " not in as_table_cell(row[2]).below
    assert as_table_cell(row[3]).text.startswith("0.1")
    assert as_table_cell(row[3]).below == "1 of 3"
    more = [*done, *(measured(at, {"dir": at / 100}) for at in range(4, 24))]
    (row,) = measurements_output(more, [CLIP]).tables[0].rows
    assert as_table_cell(row[3]).below.startswith("21 of 23  [")


@pytest.mark.parametrize("middle", [-0.5, 0.2, 0.8, 1.5])
def test_an_interval_is_clipped_to_the_range_only_if_all_values_are_inside(middle: float) -> None:
    values = [middle - 0.2, middle + 0.2] * 3
    data = measurements_output([measured(at, {"grey": one}) for at, one in enumerate(values)], [GREY]).data
    cell = data["models"]["A"]["grey"]
    ends = cell["value"] - cell["low"], cell["high"] - cell["value"]
    if 0 < middle < 1:
        assert cell["low"] >= 0
        assert cell["high"] <= 1
        assert min(ends) < max(ends), "one end is clipped"
    else:
        assert ends[0] == pytest.approx(ends[1]), "predictors may return values outside the declared range"
        assert ends[0] > 0.1


def test_reasons_name_their_metrics_and_count_an_edit_once() -> None:
    why = {"clip": "no source", "grey": "no source"}
    done = [measured(1, {}, why), measured(2, {}, why), measured(3, {}, {"grey": "too small"})]
    assert measurements_output(done, [CLIP, GREY]).notes == [
        "clip, grey: not measured for 2 edits: no source",
        "grey: not measured for 1 edit: too small",
    ]
    apart = [measured(1, {}, why), measured(2, {"img": 1.0}, {"grey": "no source"})]
    assert measurements_output(apart, [CLIP, GREY]).notes == [
        "grey: not measured for 2 edits: no source",
        "clip: not measured for 1 edit: no source",
    ]


def test_reasons_are_escaped() -> None:
    notes = measurements_output([measured(1, {}, {"grey": "E\x1b[31mvil.png is damaged"})], [GREY]).notes
    assert notes == [r"grey: not measured for 1 edit: E\x1b[31mvil.png is damaged"]


def test_long_lists_of_reasons_are_shortened() -> None:
    done = [measured(at, {}, {"grey": f"{at}.png is damaged"}) for at in range(11)]
    notes = measurements_output(done, [GREY]).notes
    assert len(notes) == 9
    assert notes[-1] == "and 3 more reasons (`json` lists all)"
    assert "more" not in measurements_output(done[:8], [GREY]).notes[-1]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_every_value_of_every_edit_has_a_row(tmp_path: Path, kind: str) -> None:
    done = [
        measured(1, {"img": 0.5, "grey": 0.25}),
        measured(2, {"grey": 0.5}, {"clip": "no source"}),
        measured(3, {"img": 0.75}, {"clip": "no caption", "grey": "too small"}),
    ]
    path = tmp_path / "new" / f"values.{kind}"
    write_measurements(path, done, [CLIP, GREY])
    if kind == "json":
        rows = json.loads(path.read_text(encoding="utf-8"))
    else:
        read = polars.read_csv if kind == "csv" else polars.read_parquet
        rows = read(path).to_dicts()
    seen = [tuple(row[n] for n in ("gauge", "value_name", "value", "unmeasured")) for row in rows]
    assert seen == [
        ("clip", "img", 0.5, None),
        ("clip", "dir", None, "not applicable to this sample and edit"),
        ("grey", "grey", 0.25, None),
        ("clip", None, None, "no source"),
        ("grey", "grey", 0.5, None),
        ("clip", "img", 0.75, None),
        ("clip", "dir", None, "no caption"),
        ("grey", None, None, "too small"),
    ]
    assert list(path.parent.iterdir()) == [path]


def test_an_unwritable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "a.csv", tmp_path / "file" / "b.csv"):
        for attempt in (require_writable, lambda where: write_measurements(where, [], [])):
            with pytest.raises(CrevalError, match="cannot be written") as caught:
                attempt(path)
            assert f"`out` {path} cannot" in str(caught.value), "names the file, not a temporary one"
    require_writable(tmp_path / "c.csv")
    assert not (tmp_path / "c.csv").exists()


def test_reasons_with_invalid_unicode_in_a_folder_name(miniature: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"M\xff")
    folder.mkdir()
    (folder / "mini_001.png").write_bytes(b"not an image")
    gauges = open_image_metrics(["l1_src"], {})
    done = measure_edits(open_benchmark(miniature / "bench"), [folder], gauges, FeatureCache())
    for kind in ("json", "csv", "parquet"):
        write_measurements(tmp_path / f"out.{kind}", done, [gauge.info for gauge in gauges.values()])
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert "M?/mini_001.png" in row["unmeasured"]


@pytest.mark.parametrize("width", [80, 120])
def test_install_commands_can_be_copied_from_a_narrow_terminal(width: int) -> None:
    to_do = [
        "pip install 'creval[quality]' (for pyiqa)",
        "needs a download at first use: openai/clip-vit-large-patch14-336 (1.7 GB)",
        f"give --gauge x=FILE: aesthetic_predictor_v2_5.pth (6 MB) from https://x.org/{'a' * 50}",
    ]
    cards = [(CLIP, MetricAvailability(False, tuple(to_do))), (GREY, MetricAvailability(False, (to_do[1],)))]
    out = Console(width=width, file=StringIO())
    listing = metric_list_output([*cards, (replace(GREY, name="l1"), MetricAvailability(True, ()))])
    for grid in listing.tables:
        out.print(rich_table(grid))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    for word in " ".join(to_do).split():
        assert word in shown.split()
    assert "for clip, grey" in shown, "a step that several metrics need is listed once"
    assert shown.count("not yet") == 2
    (grid,) = metric_list_output([(GREY, MetricAvailability(True, ()))]).tables
    assert [as_table_cell(cell).text for cell in grid.rows[0]] == ["grey", "", "0 to 1, high", "", "ready"]
