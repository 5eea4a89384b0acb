"""Shared layout and style of all plots: figure, colours, markers and legend."""

from __future__ import annotations

import math
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from creval.reporting.plots.names import INVALID_XML
from creval.stats.scorecard import ScoreEstimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

FOREGROUND = "#1b1b1d"
"""Colour of text and axes. In an HTML page, it becomes the text colour of the page."""
BACKGROUND = "#fdfdfe"
"""Background colour. In an HTML page, it becomes the background of the page."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#9416F0", "#915229", "#9379FC", "#725D75", "#B18E4D", "#A08BAE", "#634AD8")
"""Colours that colour-blind people can distinguish, with a contrast of at least 3:1 on white and near-black.

In greyscale, markers and dashes distinguish the models.
"""
_MARKERS = "osD^vPX<>ph"
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
FIGURE_WIDTH = 7.2
"""Inches: the text width of a two-column paper or of a report."""
SMALL_FONT = 8.0
"""Points: the smallest font."""
_LINE_HEIGHT = 0.155  # inches of a line in the smallest font
TITLE_HEIGHT = 0.3
"""Inches at the top of a figure for its title."""
_CHAR_WIDTH = 0.0585  # inches of a letter in the smallest font, on average
_STYLE: Mapping[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": SMALL_FONT,
    "ytick.labelsize": SMALL_FONT,
    "legend.fontsize": SMALL_FONT,
    "text.color": FOREGROUND,
    "axes.edgecolor": FOREGROUND,
    "axes.labelcolor": FOREGROUND,
    "xtick.color": FOREGROUND,
    "ytick.color": FOREGROUND,
    "grid.color": FOREGROUND,
    "grid.alpha": 0.18,
    "grid.linewidth": 0.6,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "savefig.facecolor": "auto",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.4,
    "lines.markersize": 5.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "creval",
    "pdf.fonttype": 42,
    "axes.unicode_minus": True,
    "text.usetex": False,
    "path.simplify": True,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
}
# Scripts that matplotlib's default font lacks are drawn with one of these fonts, if installed.
_FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI Emoji",
    "Segoe UI Symbol",
)


@contextmanager
def plot_style() -> Iterator[None]:
    """Context manager that applies the style of all plots.

    Characters missing from all fonts are drawn as boxes without a warning.
    """
    from matplotlib import font_manager, rc_context

    there = set(font_manager.get_font_names())
    style: Any = {**_STYLE, "font.sans-serif": ["DejaVu Sans", *(name for name in _FALLBACK_FONTS if name in there)]}
    with warnings.catch_warnings(), rc_context(style):
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


class SeriesStyle(NamedTuple):
    """Appearance of a model in all plots. Later models are smaller and drawn on top, so that all remain visible."""

    colour: str
    marker: str
    dash: Any
    size: float
    line_width: float


def series_style(index: int) -> SeriesStyle:
    """Return the style of the model at this index. The first hundred styles are all different."""
    turn = index + index // len(COLOURS)
    smaller = 0.6 + 0.4 * 0.7**index
    return SeriesStyle(
        COLOURS[index % len(COLOURS)],
        _MARKERS[turn % len(_MARKERS)],
        _DASHES[turn % len(_DASHES)],
        7.0 * smaller,
        2.0 * smaller,
    )


def error_bar(cell: ScoreEstimate) -> list[list[float]] | None:
    """Return the distances from a value to its interval ends, in matplotlib's format."""
    if cell.value is None or cell.low is None or cell.high is None:
        return None
    return [[max(0.0, cell.value - cell.low)], [max(0.0, cell.high - cell.value)]]


def draw_point(
    axes: Axes,
    x: float,
    y: float,
    series: SeriesStyle,
    size: float,
    *,
    across: ScoreEstimate | None = None,
    up: ScoreEstimate | None = None,
    zorder: float = 3,
    **bars: Any,
) -> None:
    """Draw a value with its intervals along x (`across`) and y (`up`). The mark is hollow if an interval is missing."""
    xerr, yerr = (None if cell is None else error_bar(cell) for cell in (across, up))
    axes.errorbar(x, y, xerr=xerr, yerr=yerr, fmt="none", ecolor=series.colour, **bars)
    filled = all(ends is not None for cell, ends in ((across, xerr), (up, yerr)) if cell is not None)
    edge, face = series.colour, series.colour if filled else "none"
    style: Any = {"marker": series.marker, "markersize": size, "markeredgecolor": edge, "markerfacecolor": face}
    axes.plot(x, y, linestyle="", zorder=zorder, **style)


def iter_panels(body: SubFigure, count: int, across: int) -> Iterator[Any]:
    """Yield the axes of `count` panels, `across` of them per row. Remaining places stay empty."""
    rows = math.ceil(count / across)
    for at, axes in enumerate(body.subplots(rows, min(across, count), squeeze=False).flat):
        if at < count:
            yield axes
        else:
            axes.set_visible(False)


def style_rows(axes: Any, labels: Sequence[str], heading: str, *, first: bool, top: float, margin: float) -> None:
    """Format a panel with one row per label. The labels are shown only in the `first` panel of each line of panels."""
    axes.set_ylim(len(labels) - 0.5, top)
    axes.margins(x=margin)
    axes.grid(axis="x")
    axes.set_title(heading, fontsize=SMALL_FONT, pad=5)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)
    axes.set_yticks(range(len(labels)))
    axes.set_yticklabels(labels if first else [])
    axes.tick_params(axis="y", length=0, labelsize=SMALL_FONT)


def hollow_note(cells: Iterable[ScoreEstimate]) -> str:
    """Return the caption's sentence on values without an interval, or an empty string."""
    hollow = any(cell.value is not None and cell.low is None for cell in cells)
    return "Hollow marks: no interval, because fewer than five samples have a value. " if hollow else ""


def make_figure(
    title: str,
    about: str,
    height: float,
    *,
    entries: Sequence[tuple[str, Any]] = (),
    alt_text: str = "",
    width: float = FIGURE_WIDTH,
) -> tuple[Figure, SubFigure]:
    """Return a figure with a title, a legend of `entries` and a caption, and the subfigure to draw in.

    `height` is that of the drawing area, in inches. `alt_text` is added to the caption for screen readers.
    """
    from matplotlib.figure import Figure

    letters = int((width - 0.1) / _CHAR_WIDTH)
    caption = textwrap.wrap(about, letters)
    longest = max((len(name) for name, _ in entries), default=0)
    across = max(1, min(len(entries), int((width - 0.1) / ((longest + 9) * _CHAR_WIDTH))))
    rows = math.ceil(len(entries) / across)
    across = math.ceil(len(entries) / max(rows, 1))  # balanced rows
    head = TITLE_HEIGHT + (rows * _LINE_HEIGHT * 1.08 + 0.06 if rows else 0.0)
    foot = len(caption) * _LINE_HEIGHT + 0.12
    made = Figure(figsize=(width, head + height + foot), layout="constrained")
    made.set_label(_strip_invalid_xml(f"{about} {alt_text}"))
    parts: Any = made.subfigures(3, 1, height_ratios=[head, height, foot], facecolor="none", hspace=0.0)
    up = 1 - 0.07 / head
    parts[0].suptitle(title, x=0.008, y=up, ha="left", va="top", fontsize=10, fontweight="bold")
    if entries:
        key = parts[0].legend(
            [handle for _, handle in entries],
            [str(n) for n in range(len(entries))],
            ncols=max(across, 1),
            loc="lower left",
            bbox_to_anchor=(0, 0),
            frameon=False,
            borderaxespad=0.2,
            columnspacing=1.4,
            handlelength=2.6,
            handletextpad=0.6,
        )
        # Matplotlib leaves out entries whose names start with an underscore, unless the text is set later.
        for words, (name, _) in zip(key.get_texts(), entries, strict=True):
            words.set_text(name)
    parts[2].set_label(_strip_invalid_xml(about))
    parts[2].text(
        0.008, 1 - 0.04 / foot, "\n".join(caption), ha="left", va="top", fontsize=SMALL_FONT, linespacing=1.15
    )
    return made, parts[1]


def legend_entries(labels: Iterable[str], *, lines: bool = False) -> list[tuple[str, Any]]:
    """Return the models as legend entries."""
    from matplotlib.lines import Line2D

    found = []
    for at, label in enumerate(labels):
        seen = series_style(at)
        handle = Line2D([], [], color=seen.colour, marker=seen.marker, linestyle=seen.dash if lines else "")
        found.append((label, handle))
    return found


def figure_texts(figure: Figure) -> tuple[str, str]:
    """Return a figure's title and its description for screen readers."""
    title = figure.subfigs[0].get_suptitle() if figure.subfigs else figure.get_suptitle()
    return title.replace(r"\$", "$"), str(figure.get_label() or "")


def caption(figure: Figure) -> str:
    """Return a figure's caption as one line, or an empty string if it has none."""
    return str(figure.subfigs[-1].get_label() or "") if figure.subfigs else ""


def _strip_invalid_xml(words: str) -> str:
    return INVALID_XML.sub("\ufffd", words.replace(r"\$", "$")).strip()
