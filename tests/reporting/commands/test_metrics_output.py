"""What gauges found, as tables, notes and rows."""

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


def gauged(sample: int, values: Mapping[str, float], reasons: Mapping[str, str] | None = None) -> MeasuredEdit:
    return MeasuredEdit(EditKey("A", str(sample), 0), str(sample), values, reasons or {})


def test_how_many_edits_a_mean_is_of_is_said_where_it_is_not_all() -> None:
    done = [gauged(1, {"img": 0.5, "dir": 0.1}), gauged(2, {"img": 0.7}), gauged(3, {"img": 0.6})]
    (grid,) = measurements_output(done, [CLIP]).tables
    (row,) = grid.rows
    assert " of " not in as_table_cell(row[2]).below
    assert as_table_cell(row[3]).text.startswith("0.1")
    assert as_table_cell(row[3]).below == "1 of 3"
    more = [*done, *(gauged(at, {"dir": at / 100}) for at in range(4, 24))]
    (row,) = measurements_output(more, [CLIP]).tables[0].rows
    assert as_table_cell(row[3]).below.startswith("21 of 23  [")


@pytest.mark.parametrize("middle", [-0.5, 0.2, 0.8, 1.5])
def test_an_interval_is_cut_at_the_range_only_if_all_values_are_inside(middle: float) -> None:
    values = [middle - 0.2, middle + 0.2] * 3
    data = measurements_output([gauged(at, {"grey": one}) for at, one in enumerate(values)], [GREY]).data
    cell = data["models"]["A"]["grey"]
    ends = cell["value"] - cell["low"], cell["high"] - cell["value"]
    if 0 < middle < 1:
        assert cell["low"] >= 0
        assert cell["high"] <= 1
        assert min(ends) < max(ends), "one end is cut"
    else:
        assert ends[0] == pytest.approx(ends[1]), "a predictor may leave its range"
        assert ends[0] > 0.1


def test_reasons_name_their_gauges_and_count_an_edit_once() -> None:
    why = {"clip": "no source", "grey": "no source"}
    done = [gauged(1, {}, why), gauged(2, {}, why), gauged(3, {}, {"grey": "too small"})]
    assert measurements_output(done, [CLIP, GREY]).notes == [
        "clip, grey: 2 edits not measured: no source",
        "grey: 1 edit not measured: too small",
    ]
    apart = [gauged(1, {}, why), gauged(2, {"img": 1.0}, {"grey": "no source"})]
    assert measurements_output(apart, [CLIP, GREY]).notes == [
        "grey: 2 edits not measured: no source",
        "clip: 1 edit not measured: no source",
    ]


def test_reasons_may_hold_anything() -> None:
    notes = measurements_output([gauged(1, {}, {"grey": "E\x1b[31mvil.png is damaged"})], [GREY]).notes
    assert notes == [r"grey: 1 edit not measured: E\x1b[31mvil.png is damaged"]


def test_reasons_that_are_too_many_are_counted() -> None:
    done = [gauged(at, {}, {"grey": f"{at}.png is damaged"}) for at in range(11)]
    notes = measurements_output(done, [GREY]).notes
    assert len(notes) == 9
    assert notes[-1] == "and 3 more reasons (`json` has all)"
    assert "more" not in measurements_output(done[:8], [GREY]).notes[-1]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_every_value_of_every_edit_has_a_row(tmp_path: Path, kind: str) -> None:
    done = [
        gauged(1, {"img": 0.5, "grey": 0.25}),
        gauged(2, {"grey": 0.5}, {"clip": "no source"}),
        gauged(3, {"img": 0.75}, {"clip": "no caption", "grey": "too small"}),
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
        ("clip", "dir", None, "the sample and the edit give nothing to measure it by"),
        ("grey", "grey", 0.25, None),
        ("clip", None, None, "no source"),
        ("grey", "grey", 0.5, None),
        ("clip", "img", 0.75, None),
        ("clip", "dir", None, "no caption"),
        ("grey", None, None, "too small"),
    ]
    assert list(path.parent.iterdir()) == [path]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "a.csv", tmp_path / "file" / "b.csv"):
        for attempt in (require_writable, lambda where: write_measurements(where, [], [])):
            with pytest.raises(CrevalError, match="cannot be written") as caught:
                attempt(path)
            assert f"`out` {path} cannot" in str(caught.value), "not a temporary file"
    require_writable(tmp_path / "c.csv")
    assert not (tmp_path / "c.csv").exists()


def test_reasons_can_be_written_whatever_a_folder_is_called(miniature: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"M\xff")
    folder.mkdir()
    (folder / "mini_001.png").write_bytes(b"no picture")
    gauges = open_image_metrics(["l1_src"], {})
    done = measure_edits(open_benchmark(miniature / "bench"), [folder], gauges, FeatureCache())
    for kind in ("json", "csv", "parquet"):
        write_measurements(tmp_path / f"out.{kind}", done, [gauge.info for gauge in gauges.values()])
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert "M?/mini_001.png" in row["unmeasured"]


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_to_be_done_first_can_be_copied_from_a_narrow_terminal(width: int) -> None:
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
    assert "for clip, grey" in shown, "what several need is said once"
    assert shown.count("not yet") == 2
    (grid,) = metric_list_output([(GREY, MetricAvailability(True, ()))]).tables
    assert [as_table_cell(cell).text for cell in grid.rows[0]] == ["grey", "", "0 to 1, high", "", "ready"]
