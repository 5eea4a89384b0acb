"""Tests that plots show the values of the scorecard, also with hostile model names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from creval.analysis.measurement_repeats import RepeatVariation
from creval.analysis.scoring import score
from creval.benchmarks.complex_edit.protocol import SCHEMA as COMPLEX_EDIT
from creval.core.errors import CrevalError
from creval.core.schema import OVERALL, Composite, Level, Metric, ScoreSchema
from creval.reporting import plots
from creval.reporting.plots.label_placement import LabelBox
from creval.reporting.plots.names import model_labels, shorten_middle, wrap_label, wrap_words
from creval.reporting.plots.radar import radial_range, ring_values
from creval.reporting.plots.ternary import best_regions
from creval.stats.score_table import Floats, ScoreTable
from creval.stats.scorecard import Scorecard, ScoreEstimate, build_scorecard
from creval.stats.weight_sensitivity import analyse_sensitivity
from creval.store import Run
from tests.stats.made import table

EVIL = (
    "$x$ \\frac{",
    "_a",
    "^",
    "<script>alert(1)</script>",
    "a" * 120,
    "a" * 119 + "b",
    "\x1b[31m\u202e\ufffe",
    "{}%&#~",
    '#1b1b1d id="p0123456789"',
)


def made(models: int = 3, seed: int = 1) -> Scorecard:
    """Return models that differ by five points, over CREval's nine dimensions."""
    chance = np.random.default_rng(seed)
    level = 60 + 5.0 * np.arange(models)[:, None, None]
    values = np.clip(level + chance.normal(0, 8, (models, 72, 3)), 0, 100)
    return build_scorecard(table(values, [n % 9 for n in range(72)]), resamples=200)


def over(card: ScoreSchema, groups: dict[str, Any], values: Floats) -> Scorecard:
    total = np.ones(values.shape, dtype=np.int64)
    samples = values.shape[1]
    return build_scorecard(
        ScoreTable(
            schema=card,
            models=tuple("ABCDEFGHIJKL"[: len(values)]),
            samples=tuple(f"s{n}" for n in range(samples)),
            groups=groups,
            values=values,
            scored=np.where(np.isnan(values), 0, total),
            total=total,
            unanswered={},
            unasked={},
            clusters=np.arange(samples),
        ),
        resamples=200,
    )


def complexities(models: int = 2) -> Scorecard:
    levels = (
        OVERALL,
        Level("complexity", "complexity", ("C1", "C2", "C3")),
        Level("delta", "deltas", ("C3-C1",), difference_of=("complexity", "C3", "C1")),
    )
    groups = {"complexity": np.arange(60) % 3}
    chance = np.random.default_rng(3)
    values = 8 - groups["complexity"][None, :, None] + chance.normal(0, 0.5, (models, 60, 3))
    return over(replace(COMPLEX_EDIT, levels=levels), groups, values)


def all_kinds(card: Scorecard) -> dict[str, Figure]:
    return {
        "radar": plots.radar(card),
        "forest": plots.forest(card),
        "plane": plots.plane(card),
        "groups": plots.groups(card),
        "weights": plots.ternary(analyse_sensitivity(card)),
    }


def texts(figure: Figure) -> list[str]:
    return [text.get_text().replace(r"\$", "$") for text in figure.findobj(Text)]


def drawn(figure: Figure) -> list[Any]:
    """Return the axes of all subfigures."""
    return [axes for part in figure.subfigs for axes in part.axes]


def marks(axes: Any) -> set[tuple[float, float]]:
    """Return the positions of all marks, rounded to six decimals."""
    return {
        (round(float(x), 6), round(float(y), 6))
        for line in axes.lines
        if line.get_marker() not in ("None", "", None, "|", "_")
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }


def value(card: Scorecard, *place: str) -> float:
    found = card.cell(*place).value
    assert found is not None
    return round(found, 6)


def test_a_forest_shows_every_cell_in_order_and_joins_models_without_significant_differences() -> None:
    card = made(4)
    axes = drawn(plots.forest(card))
    assert [one.get_title().split(":")[0] for one in axes] == ["S", "IF", "VC", "VQ"]
    for one, column in zip(axes, ("S", "IF", "VC", "VQ"), strict=True):
        expected = {(value(card, name, column), float(n)) for n, name in enumerate(card.models)}
        assert expected <= marks(one)
    assert [label.get_text() for label in axes[0].get_yticklabels()] == list("DCBA")
    ends = {tuple(np.round(s[:, 0], 6)) for c in axes[0].collections for s in c.get_segments()}
    cell = card.cell("D", "S")
    assert cell.low is not None
    assert cell.high is not None
    assert (round(cell.low, 6), round(cell.high, 6)) in ends
    same = build_scorecard(
        replace(
            card.table,
            values=card.table.values[[0, 0, 3]],
            models=("X", "Y", "Z"),
            scored=card.table.scored[:3],
            total=card.table.total[:3],
        ),
        resamples=200,
    )
    (joined,) = [group for group in same.indistinguishable if len(group) > 1]
    assert set(joined) == {"X", "Y"}
    thick = [line for line in drawn(plots.forest(same))[0].lines if line.get_linewidth() > 2]
    assert [list(line.get_ydata()) for line in thick] == [[0.75, 2.25]]


def test_a_radar_shows_every_group_and_states_the_value_at_its_centre() -> None:
    card = made(3)
    figure = plots.radar(card)
    axes = drawn(figure)
    assert len(axes) == 4
    for one, column in zip(axes, ("S", "IF", "VC", "VQ"), strict=True):
        low, high = one.get_ylim()
        assert any(f"{column}: " in t and f"centre {low:g}, edge {high:g}" in t for t in texts(figure))
        for line, name in zip(one.lines[:3], card.models, strict=True):
            expected = [value(card, name, column, g) for g in card.groups("dimension")]
            assert np.round(line.get_ydata(), 6).tolist() == [*expected, expected[0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 99], (0, 100)),
        ([55, 88], (50, 90)),
        ([96, 99.9], (90, 100)),
        ([21, 90], (0, 100)),
        ([-5, 40], (-10, 50)),
        ([35, 89], (30, 90)),
    ],
)
def test_the_centre_and_edge_of_a_circle_are_round_numbers(
    values: Sequence[float], expected: tuple[float, float]
) -> None:
    low, high = radial_range(made(1), "IF", [[ScoreEstimate(v, None, None, 1, 1) for v in values]])
    assert (low, high) == expected
    assert 1 < len(ring_values(low, high)) <= 6


def test_rings_exclude_the_centre_and_include_the_edge() -> None:
    assert ring_values(0.3, 0.7) == [0.4, 0.5, 0.6, 0.7]


def test_many_groups_give_one_panel_with_names_along_the_spokes() -> None:
    tasks = tuple(f"{n} a task with a name" for n in range(1, 32))
    card = ScoreSchema(
        (Metric("AES", "aesthetic", 0, 1), Metric("PF", "following", 0, 1)),
        Composite("score", "task score", {"AES": 0.5, "PF": 0.5}),
        (OVERALL, Level("task", "tasks", tasks)),
    )
    values = np.random.default_rng(1).uniform(0.4, 0.9, (2, 31 * 6, 2))
    values[0, np.arange(31 * 6) % 31 == 4] = np.nan
    found = over(card, {"task": np.arange(31 * 6) % 31}, values)
    figure = plots.radar(found)
    assert len(drawn(figure)) == 1
    assert {text.replace("\n", " ") for text in texts(figure)} >= set(tasks)
    assert len(drawn(plots.radar(found, metrics=["AES", "PF"]))) == 2
    gap = next(line for line, name in zip(drawn(figure)[0].lines, found.models, strict=False) if name == "A")
    assert np.isnan(gap.get_ydata()[4])


def test_groups_show_every_model_in_every_group() -> None:
    card = made(3)
    axes = drawn(plots.groups(card, "category", metrics=["VC"]))
    assert len(axes) == 1
    found = sorted(marks(axes[0]), key=lambda at: at[1])
    groups = card.groups("category")
    assert [at[0] for at in found] == [value(card, n, "VC", g) for g in groups for n in card.models]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == list(groups)


def test_the_plane_labels_equal_points_without_overlaps() -> None:
    card = made(1)
    twice = replace(
        card.table,
        models=("first", "second", "third"),
        values=card.table.values[[0, 0, 0]],
        scored=card.table.scored[[0, 0, 0]],
        total=card.table.total[[0, 0, 0]],
    )
    same = build_scorecard(twice, resamples=200)
    figure = plots.plane(same)
    (axes,) = drawn(figure)
    assert marks(axes) >= {(value(same, "first", "IF"), value(same, "first", "VC"))}
    figure.draw_without_rendering()
    boxes = [
        LabelBox(*text.get_window_extent().extents)
        for text in axes.texts
        if text.get_text() in ("first", "second", "third")
    ]
    assert len(boxes) == 3
    assert all(a.overlap(b) == 0 for n, a in enumerate(boxes) for b in boxes[:n])


def test_complexity_draws_lines_over_all_groups_with_bands() -> None:
    card = complexities()
    axes = drawn(plots.complexity(card))
    assert [one.get_title().split(":")[0] for one in axes] == ["O", "IF", "IP", "PQ"]
    for name in card.models:
        expected = {(float(n), value(card, name, "O", f"C{n + 1}")) for n in range(3)}
        assert expected <= marks(axes[0])
    assert len(axes[0].collections) == 2, "one band per model"
    lows = axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert card.cell(card.models[0], "O", "C1").low == pytest.approx(lows.max(), abs=1.5)
    (zero,) = {
        line.get_xdata()[0]
        for line in drawn(plots.groups(card, "delta"))[0].lines
        if len(line.get_xdata()) == 2 and line.get_linewidth() == 0.8
    }
    assert zero == 0


def test_repeats_show_observed_and_extrapolated_values() -> None:
    found = RepeatVariation({"IF": np.zeros((1, 8))}, {"IF": {1: 2.0, 2: 1.5}}, {"IF": 2.0})
    (axes,) = drawn(plots.repeat_variation(found, COMPLEX_EDIT))
    assert marks(axes) == {(1.0, 2.0), (2.0, 1.5)}
    curve = axes.lines[0]
    at = int(np.argmin(np.abs(curve.get_xdata() - 20)))
    assert curve.get_ydata()[at] == pytest.approx(found.variation("IF", 20), rel=1e-6)


def test_regions_of_best_models_fill_the_triangle() -> None:
    values = np.array([[80.0, 60, 70], [60, 80, 70], [50, 50, 90], [80, 60, 70], [10, 10, 10]])
    fields = best_regions(values)
    assert [len(field) > 0 for field in fields] == [True, True, True, False, False]

    def area(corners: Floats) -> float:
        x, y = corners.T
        return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)

    assert sum(area(f) for f in fields if len(f)) == pytest.approx(np.sqrt(3) / 4)
    card = made(3)
    wins = analyse_sensitivity(card).win_shares
    regions = best_regions(analyse_sensitivity(card).values)
    for name, region in zip(card.models, regions, strict=True):
        share = area(region) / (np.sqrt(3) / 4) if len(region) else 0.0
        assert share == pytest.approx(wins[name], abs=0.03)


def test_hostile_model_names_are_shown_literally() -> None:
    card = made(len(EVIL))
    named = build_scorecard(replace(card.table, models=EVIL), resamples=200)
    for kind, figure in all_kinds(named).items():
        svg = plots.figure_svg(figure)
        root = ElementTree.fromstring(svg)
        words = " ".join("".join(element.itertext()) for element in root.iter())
        assert "\x1b" not in svg
        assert "<script" not in svg
        if kind in ("forest", "plane"):  # these show all models
            for name in ("$x$ \\frac{", "_a", "^", "{}%&#~", "\\x1b[31m\\u202e\ufffd", "#1b1b1d"):
                assert name in words, kind
            assert 'id="p0123456789"' in words, kind
    assert len(set(model_labels(EVIL, 20, 2).values())) == len(EVIL)


def test_long_names_keep_both_ends_and_break_between_parts() -> None:
    assert shorten_middle("abcdefghij", 5) == "abc…j"
    assert wrap_label("qwen-image-edit_output_edit-2509", 20) == "qwen-image-edit_\noutput_edit-2509"
    assert wrap_label("Informational & Narrative Expression", 16, 3).count("\n") == 2
    assert wrap_label("x" * 50, 10, 2) == "xxxxxxxxxx\nxx…xxxxxxx"


def test_a_page_sets_a_plots_title_and_caption_itself(small_run: Run, tmp_path: Path) -> None:
    """The SVG element has neither title nor caption, nor space for them. A file has both."""
    made = plots.radar(score(small_run, resamples=100), about="Of 18 samples. ")
    assert plots.caption(made).startswith("Of 18 samples. The title of each panel")
    found = plots.figure_svg(made)
    assert "of each panel" in found.partition("</desc>")[0]
    assert "of each panel" not in found.partition("</desc>")[2]
    assert "By dimension: " not in found.partition("</desc>")[2]
    plots.save_figure(made, tmp_path / "radar.svg")
    whole = (tmp_path / "radar.svg").read_text(encoding="utf-8")
    assert "of each panel" in whole.partition("</desc>")[2]
    assert "By dimension: " in whole.partition("</desc>")[2]
    views = [re.findall(r'viewBox="0 ([0-9.]+) [0-9.]+ ([0-9.]+)"', svg)[0] for svg in (found, whole)]
    (top, height), (nothing, full) = ((float(a), float(b)) for a, b in views)
    assert nothing == 0
    assert top == pytest.approx(0.3 * 72), "the height of the title"
    assert 0 < top + height < full


def test_a_page_can_hold_several_plots(small_run: Run) -> None:
    card = score(small_run, resamples=100)
    about = plots.describe_basis(card, small_run.manifest)
    found = [
        plots.figure_svg(plots.forest(card, about=about)),
        plots.figure_svg(plots.radar(card)),
        plots.figure_svg(plots.plane(card), "A title & more", "Words <here>"),
    ]
    ids = [name for svg in found for name in re.findall(r'\sid="([^"]+)"', svg)]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', "".join(found))) <= set(ids)
    assert "<title id" in found[0]
    assert "judge recorded:answers, 18 samples" in found[0]
    assert "S overall: Careful" in found[0], "the values as text for screen readers"
    assert "A title &amp; more</title>" in found[2]
    assert "Words &lt;here&gt;</desc>" in found[2]
    for svg in found:
        assert svg.startswith("<svg ")
        assert "currentColor" in svg
        assert "#1b1b1d" not in svg
        assert "<style" not in svg
        assert "<image" not in svg
        outside = set(re.findall(r'https?://[^"\s<]+', svg))
        assert outside == {"http://www.w3.org/1999/xlink", "http://www.w3.org/2000/svg"}
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:\d+ )?([\d.]+)px", svg)]
        assert sizes
        assert min(sizes) >= 8


def test_equal_plots_give_equal_files(tmp_path: Path) -> None:
    card = made(3)
    for suffix in (".svg", ".png", ".pdf"):
        for name in ("one", "two"):
            plots.save_figure(plots.forest(card), tmp_path / f"{name}{suffix}")
        one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two
        assert len(one) > 3000
    assert "<desc" in (tmp_path / "one.svg").read_text()
    assert "<?xml" in (tmp_path / "one.svg").read_text()


def test_colours_have_contrast_on_white_and_on_black() -> None:
    """WCAG 1.4.11 requires a contrast of 3:1 for graphics."""

    def light(colour: str) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in plots.COLOURS:
        assert 1.05 / (light(colour) + 0.05) >= 3
        assert (light(colour) + 0.05) / (light("#121212") + 0.05) >= 3


def test_errors_say_why_nothing_can_be_drawn_and_what_to_do() -> None:
    card = made(1)
    with pytest.raises(CrevalError, match="at least two models"):
        plots.ternary(analyse_sensitivity(card))
    with pytest.raises(CrevalError, match=r"no level `complexity`.*groups` draws"):
        plots.complexity(card)
    with pytest.raises(CrevalError, match="no level 'dimensoin'; did you mean 'dimension'"):
        plots.radar(card, "dimensoin")
    with pytest.raises(CrevalError, match=r"needs at least 3\. Give `level`, one of: category, dimension"):
        plots.radar(card, "overall")
    with pytest.raises(CrevalError, match="no metric 'IFF'"):
        plots.forest(card, metrics=["IFF"])
    lone = over(replace(COMPLEX_EDIT, levels=(OVERALL,)), {}, np.full((1, 6, 3), 5.0))
    with pytest.raises(CrevalError, match="have no groups to compare"):
        plots.groups(lone)
    empty = over(replace(COMPLEX_EDIT, levels=(OVERALL,)), {}, np.full((1, 6, 3), np.nan))
    for draw in (plots.forest, plots.plane):
        with pytest.raises(CrevalError, match="no model has"):
            draw(empty)


def test_empty_cells_and_missing_intervals_are_marked() -> None:
    card = made(2)
    values = card.table.values[:, :3].copy()
    values[1, :, 1] = np.nan
    few = build_scorecard(
        replace(
            card.table,
            values=values,
            scored=card.table.scored[:, :3],
            total=card.table.total[:, :3],
            clusters=np.arange(3),
            samples=card.table.samples[:3],
            groups={n: g[:3] for n, g in card.table.groups.items()},
        ),
        resamples=100,
    )
    figure = plots.forest(few)
    assert "no value" in texts(figure)
    assert any("Hollow marks: no interval" in text.replace("\n", " ") for text in texts(figure))
    hollow = [line for line in drawn(figure)[0].lines if line.get_markerfacecolor() == "none"]
    assert hollow
    assert any("Not shown, without a value: B" in text.replace("\n", " ") for text in texts(plots.plane(few)))


def test_a_radar_shows_a_limited_number_of_models() -> None:
    card = made(12)
    figure = plots.radar(card)
    assert any("The first 6 of 12 models" in text.replace("\n", " ") for text in texts(figure))
    shown = {text for text in texts(figure) if text in card.models}
    assert shown == set(card.models[:6])


def test_unused_operations_are_shown() -> None:
    counts = {"Text $x$ and Symbols": {"Add Text": 3, "Remove Text": 0}, "Lighting": {"Adjust": 1}}
    drawn = plots.operation_counts(counts)
    words = [text.get_text() for text in drawn.findobj(Text) if isinstance(text, Text)]
    assert {" 3", " 0", " 1", "Remove Text"} <= set(words)
    assert any("75.0 %" in word for word in words)
    assert plots.figure_svg(plots.operation_counts({"Text": {"Add Text": 0}})).startswith("<svg")


@pytest.mark.parametrize("group", ["Contextualization", "Informational & Narrative Expression", "a b c", "x" * 80])
def test_radar_labels_are_not_broken_inside_words(group: str) -> None:
    shown = wrap_words(group, 16, 3)
    assert len(shown.split("\n")) <= 3
    assert shown.replace("\n", " ") == shorten_middle(group, 30) if " " not in group else group
    values = np.full((2, 8, 3), 50.0) + np.arange(2.0)[:, None, None]
    schema = ScoreSchema(
        (Metric("m", "m"),), None, levels=(Level("kind", "kinds", (group, "other one", "third")), OVERALL)
    )
    card = over(schema, {"kind": np.arange(8) % 3}, values[..., :1])
    drawn: list[Any] = plots.radar(card, "kind").findobj(Text)
    words = {word for text in drawn for word in text.get_text().split()}
    assert {shorten_middle(word, 30) for word in group.split()} <= words
