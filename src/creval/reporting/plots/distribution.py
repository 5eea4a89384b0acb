"""Distribution plot of a benchmark: its groups, instructions, questions and operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from creval.core.formatting import pluralise
from creval.reporting.plots import canvas
from creval.reporting.plots.names import escape_plot_text, wrap_label
from creval.reporting.plots.operation_counts import draw_operations, operations_height

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from creval.analysis.benchmark_contents import BenchmarkContents

_BAR_PITCH = 0.17  # inches from one bar to the next
_FRAME = 0.66  # inches of a panel's title and axis
_MAX_BARS = 40
_MAX_PAIRED_BARS = 12  # panels with more bars are as wide as the figure
_HISTOGRAM_HEIGHT = 1.9
_MAX_BINS = 30
_CELL = 0.27  # inches
_DARKEST = 0.62  # opacity of the largest count, so that its number stays readable


class _Panel(NamedTuple):
    height: float
    draw: Callable[[Any, float], None]  # with the height of its row
    is_wide: bool = False


@canvas.plot_style()
def distribution(contents: BenchmarkContents) -> Figure:
    """Draw the counts of a benchmark: groups, subsets, instructions, questions, and operations and their order."""
    rows = _arrange(_panels(contents))
    heights = [max(panel.height for panel in row) for row in rows]
    title = f"Contents of {escape_plot_text(contents.benchmark.title)}"
    made, body = canvas.make_figure(title, _describe(contents), sum(heights))
    parts: Any = body.subfigures(len(rows), 1, height_ratios=heights, facecolor="none", squeeze=False)
    for part, row, height in zip(parts.flat, rows, heights, strict=True):
        for axes, panel in zip(part.subplots(1, len(row), squeeze=False).flat, row, strict=True):
            panel.draw(axes, height)
    return made


def _describe(contents: BenchmarkContents) -> str:
    """Return the caption."""
    words = list(contents.instruction_words)
    parts = [
        f"{pluralise(len(contents.dataset.samples), 'sample')}. Instructions have {words[0]} to {words[-1]} words, "
        f"separated by white space; the median is {contents.median_words:g}."
    ]
    asked = contents.questions_per_sample
    if asked and not _has_varying_questions(contents):
        each = [f"{pluralise(next(iter(counted)), 'question')} in {name}" for name, counted in asked.items()]
        parts.append(f"Every sample has {', '.join(map(escape_plot_text, each))}.")
    if contents.operations:
        total = sum(sum(group.values()) for group in contents.operations.values())
        parts.append(f"{total:,} steps; those that samples of one image share count once.")
    if contents.transitions:
        parts.append("The matrix counts adjacent steps: the category of the first in rows, of the next in columns.")
    return " ".join(parts)


def _has_varying_questions(contents: BenchmarkContents) -> bool:
    return any(len(counted) > 1 for counted in contents.questions_per_sample.values())


def _panels(contents: BenchmarkContents) -> list[_Panel]:
    levels = {**contents.samples_by_group, **({} if contents.operations else contents.parts_by_group)}
    subsets = {name: len(members) for name, members in contents.dataset.subsets.items()}
    named = [*levels.items(), *([("subsets", subsets)] if subsets else [])]
    panels = [_bars_panel(name.replace("_", " "), counts) for name, counts in named if counts]
    panels.append(_Panel(_HISTOGRAM_HEIGHT, lambda axes, _: _draw_words(axes, contents)))
    if _has_varying_questions(contents):
        asked = contents.questions_per_sample
        panels.append(_Panel(_HISTOGRAM_HEIGHT, lambda axes, _: _draw_questions(axes, asked)))
    operations = {category: _largest(counts)[0] for category, counts in contents.operations.items()}
    left_out = any(len(counts) > _MAX_BARS for counts in contents.operations.values())
    title = f"operations, the {_MAX_BARS} most frequent of each category" if left_out else "operations"
    if operations:
        panels.append(
            _Panel(operations_height(operations) + 0.3, lambda axes, _: _draw_steps(axes, title, operations), True)
        )
    if contents.transitions:
        height = len(contents.transitions) * _CELL + _FRAME
        panels.append(_Panel(height, lambda axes, _: _draw_transitions(axes, contents.transitions), True))
    return panels


def _arrange(panels: Sequence[_Panel]) -> list[list[_Panel]]:
    """Return rows of panels: two side by side, unless one is wide."""
    rows: list[list[_Panel]] = []
    for panel in panels:
        if rows and len(rows[-1]) == 1 and not panel.is_wide and not rows[-1][0].is_wide:
            rows[-1].append(panel)
        else:
            rows.append([panel])
    return rows


def _largest(counts: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """Return the largest counts, in the given order, and the number of counts that are left out."""
    kept = set(sorted(counts, key=lambda name: -counts[name])[:_MAX_BARS])
    return {name: number for name, number in counts.items() if name in kept}, len(counts) - len(kept)


def _bars_panel(name: str, counts: Mapping[str, int]) -> _Panel:
    shown, left_out = _largest(counts)
    title = f"{name}, the {_MAX_BARS} largest of {len(counts):,}" if left_out else name
    is_wide = len(shown) > _MAX_PAIRED_BARS

    def draw(axes: Axes, height: float) -> None:
        _draw_bars(axes, title, shown, is_wide)
        axes.set_ylim((height - _FRAME) / _BAR_PITCH - 0.4, -0.6)

    return _Panel(len(shown) * _BAR_PITCH + _FRAME, draw, is_wide)


def _draw_bars(axes: Axes, title: str, counts: Mapping[str, int], is_wide: bool) -> None:
    most = max(counts.values())
    for at, number in enumerate(counts.values()):
        axes.barh(at, number, height=0.72, color=canvas.COLOURS[0])
        axes.text(number, at, f" {number:,}", va="center", ha="left", fontsize=canvas.SMALL_FONT)
    labels = [wrap_label(name or "(none)", 60 if is_wide else 38, 1) for name in counts]
    axes.set_yticks(range(len(counts)), labels)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, max(most, 1) * (1.1 if is_wide else 1.22))
    _style(axes, escape_plot_text(title), "samples", "x")


def _draw_words(axes: Axes, contents: BenchmarkContents) -> None:
    words, samples = (np.array(list(of)) for of in zip(*contents.instruction_words.items(), strict=True))
    width = max(1, -(-int(words[-1] - words[0] + 1) // _MAX_BINS))
    edges = np.arange(words[0], words[-1] + width + 1, width) - 0.5
    axes.hist(words, bins=edges.tolist(), weights=samples, color=canvas.COLOURS[0], rwidth=0.9)
    missing = max(0, 4 - int(words[-1] - words[0])) / 2  # so that ticks are at whole numbers
    axes.set_xlim(float(edges[0] - missing - 0.2), float(edges[-1] + missing + 0.2))
    axes.axvline(contents.median_words, color=canvas.COLOURS[1], linestyle="--")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.12)
    axes.annotate(
        f"median {contents.median_words:g}",
        (contents.median_words, 1),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        va="top",
        fontsize=canvas.SMALL_FONT,
    )
    _style(axes, "lengths of instructions", "words", "y")
    axes.set_ylabel("samples")


def _draw_questions(axes: Axes, counts: Mapping[str, Mapping[int, int]]) -> None:
    for at, counted in enumerate(counts.values()):
        series = canvas.series_style(at)
        across = range(min(counted), max(counted) + 1)
        axes.plot(
            across,
            [counted.get(number, 0) for number in across],
            color=series.colour,
            marker=series.marker,
            linestyle=series.dash,
            markersize=series.size,
            clip_on=False,
        )
    axes.set_ylim(bottom=0)
    entries = canvas.legend_entries(map(escape_plot_text, counts), lines=True)
    key = axes.legend([handle for _, handle in entries], [str(at) for at in range(len(entries))], frameon=False)
    for text, (name, _) in zip(key.get_texts(), entries, strict=True):
        text.set_text(name)
    _style(axes, "questions per metric and sample", "questions", "y")
    axes.set_ylabel("samples")


def _draw_steps(axes: Axes, title: str, operations: Mapping[str, Mapping[str, int]]) -> None:
    draw_operations(axes, operations)
    _style(axes, title, "steps", "x")


def _draw_transitions(axes: Axes, transitions: Mapping[str, Mapping[str, int]]) -> None:
    from matplotlib.patches import Rectangle

    names = list(transitions)
    most = max(number for counts in transitions.values() for number in counts.values())
    for (row, first), (column, then) in itertools.product(enumerate(names), repeat=2):
        number = transitions[first][then]
        share = _DARKEST * number / most
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=canvas.COLOURS[0], alpha=share, linewidth=0))
        axes.text(column, row, f"{number:,}" if number else "·", va="center", ha="center", fontsize=canvas.SMALL_FONT)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks(range(len(names)), [str(at + 1) for at in range(len(names))])
    axes.set_yticks(range(len(names)), [f"{wrap_label(name, 44, 1)}  {at}" for at, name in enumerate(names, 1)])
    axes.tick_params(length=0)
    axes.set_title("which category follows which", fontsize=canvas.SMALL_FONT, fontweight="bold", loc="left")
    axes.set_xlabel("category of the next step, numbered as the rows")


def _style(axes: Axes, title: str, across: str, grid: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_title(title, fontsize=canvas.SMALL_FONT, fontweight="bold", loc="left")
    axes.set_xlabel(across)
    for axis in (axes.xaxis, axes.yaxis):
        if axis is axes.xaxis or grid == "y":
            axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axes.grid(axis="x" if grid == "x" else "y")
    axes.set_axisbelow(True)
