"""Outputs of a run: plots, an HTML report, an export, and the viewer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.analysis.scoring_options import ScoringOptions, ViewOptions
from creval.api.analyses import published_scores, scorecard
from creval.api.inputs import RunLike, opened_run, read_ratings
from creval.core.errors import CrevalError, require_known
from creval.core.progress_line import ProgressLine, count_progress, in_notebook
from creval.store import Run, run_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

    from creval.analysis.published_scores import PublishedScores
    from creval.stats.scorecard import Scorecard
    from creval.stats.source_agreement import SourceComparison

PLOT_KINDS = {
    "radar": "strengths and weaknesses in the groups of a level, around a circle",
    "forest": "scores with intervals, and the models without significant differences",
    "plane": "two metrics against each other, by default instruction following and consistency",
    "weights": "the best model for each weighting of three metrics",
    "complexity": "each metric over the ordered groups of a level, such as C1 to C8",
    "repeats": "variation of scores between repeated measurements",
    "groups": "scores with intervals for each group of any level",
    "cost": "score against the cost or time of an edit, with the strategies of one model connected",
    "best-of": "each metric over the number of candidates of best-of-N",
    "sources": "the same models by several runs or score files, such as other judges or protocols",
}
"""Kinds of plots, each with a description."""
_KINDS_WITHOUT_METRICS = ("weights", "repeats", "cost")
_KINDS_WITH_LEVEL = ("radar", "groups", "complexity")
_KINDS_WITH_PUBLISHED = ("forest", "plane", "groups", "complexity")


def plot(
    run: RunLike,
    kind: str,
    out: str | Path | None = None,
    *,
    level: str | None = None,
    metrics: Sequence[str] = (),
    human: str | Path | None = None,
    scale: str | None = None,
    beside: Sequence[str | Path] = (),
    published: bool = False,
    **scoring: Unpack[ScoringOptions],
) -> Figure:
    """Plot a run. `kind` is radar, forest, plane, weights, complexity, repeats, groups, cost, best-of or sources.

    Returns a matplotlib figure and, if `out` is given, saves it there (.svg, .png or .pdf). For `weights`, `human` is a
    CSV file of ratings; the weights that agree best with them are marked. For `sources`, `beside` lists the other runs
    and score files. With `published`, forest, plane, groups and complexity also show the numbers that the benchmark's
    paper published.
    """
    from creval.reporting import plots
    from creval.store.provenance import read_provenance

    require_known("kind of plot", kind, PLOT_KINDS)
    if out is not None:
        plots.check_suffix(out)
    if level is not None and kind not in _KINDS_WITH_LEVEL:
        raise CrevalError(f"`level` is for {', '.join(_KINDS_WITH_LEVEL)}, not for {kind}.")
    if metrics and kind in _KINDS_WITHOUT_METRICS:
        raise CrevalError(f"`metrics` is not for {', '.join(_KINDS_WITHOUT_METRICS)}.")
    if kind == "plane" and metrics and len(metrics) != 2:
        raise CrevalError("`metrics`: a plot of the kind plane takes two metrics, such as IF,VC or PF,REF.")
    if (human or scale) and kind != "weights":
        raise CrevalError("`human` and `scale` are only for a plot of the kind weights.")
    if published and kind not in _KINDS_WITH_PUBLISHED:
        raise CrevalError(f"`published` is for {', '.join(_KINDS_WITH_PUBLISHED)}, not for {kind}.")
    if beside and kind != "sources":
        raise CrevalError(f"a plot of several runs is of the kind sources, not {kind}.")
    if kind == "sources":
        return _finish(plots.sources(_compare(run, beside, scoring, metrics)), out)
    with opened_run(run) as opened:
        if kind == "repeats":
            made = _draw_repeats(opened, scoring)
        else:
            card = scorecard(opened, scoring)
            about = plots.describe_basis(card, opened.manifest)
            if kind == "weights":
                made = _draw_weights(opened, card, about, human, scale)
            elif kind == "best-of":
                made = plots.best_of(card, read_provenance(opened.manifest), metrics=metrics, about=about)
            elif kind == "cost":
                made = plots.cost(card, read_provenance(opened.manifest), about=about)
            else:
                marks = published_scores(opened, card) if published else None
                made = _draw(kind, card, level or "", tuple(metrics), about, len(scoring.get("models") or ()), marks)
    return _finish(made, out)


def _finish(made: Figure, out: str | Path | None) -> Figure:
    """Save a figure, and prepare a notebook to show it."""
    from creval.reporting import plots

    if out is not None:
        plots.save_figure(made, out)
    if in_notebook():  # otherwise a figure that is a cell's result is not shown
        tools: Any = import_module("IPython.core.pylabtools")
        tools.select_figure_formats(import_module("IPython").get_ipython(), {"png"})
    return made


def _path_of(run: RunLike) -> RunLike:
    """Return the path of a run that may be given with a name, as in `gpt4o=runs/a`."""
    from creval.analysis.score_sources import split_name

    return split_name(run)[1] if isinstance(run, str) else run


def _compare(
    run: RunLike, beside: Sequence[str | Path], scoring: ScoringOptions, metrics: Sequence[str] = ()
) -> SourceComparison:
    """Return the scores of a run side by side with those of other runs and score files."""
    from creval.api.side_by_side import read_comparison

    first = run.folder if isinstance(run, Run) else run
    return read_comparison([first, *beside], metrics=metrics, **scoring)


def _draw(
    kind: str,
    card: Scorecard,
    level: str,
    metrics: tuple[str, ...],
    about: str,
    model_count: int,
    published: PublishedScores | None,
) -> Figure:
    """Draw a scorecard. Raises `CrevalError` if the plot has too few colours for the models."""
    from creval.reporting import plots

    if kind == "plane":
        return plots.plane(card, *metrics, about=about, published=published)
    if kind == "forest":
        return plots.forest(card, metrics=metrics, about=about, published=published)
    if model_count > len(plots.COLOURS):
        raise CrevalError(
            f"{model_count} models are too many for the colours of this plot: give up to {len(plots.COLOURS)}, or use "
            "forest, which takes any number."
        )
    most: Any = {"max_models": model_count} if model_count else {}
    if kind == "radar":
        return plots.radar(card, level, metrics=metrics, about=about, **most)
    draw = {"groups": plots.groups, "complexity": plots.complexity}[kind]
    return draw(card, level, metrics=metrics, about=about, published=published, **most)


def _draw_weights(run: Run, card: Scorecard, about: str, human: str | Path | None, scale: str | None) -> Figure:
    from creval.reporting import plots
    from creval.stats.human.weight_fit import find_agreeing_weights
    from creval.stats.weight_sensitivity import analyse_sensitivity

    found = analyse_sensitivity(card)
    if human is None:
        return plots.ternary(found, about=about)
    agreed, _ = find_agreeing_weights(read_ratings(human, scale, run).ratings, card.table, found)
    if not agreed:
        raise CrevalError(f"`human` {human}: too few ratings of this run's edits to fit weights.")
    people = {name: one.best for name, one in agreed.items()}
    return plots.ternary(found, people=people, about=about)


def _draw_repeats(run: Run, scoring: ScoringOptions) -> Figure:
    from creval.analysis.measurement_repeats import measure_repeat_variation
    from creval.benchmarks import protocol_of_run
    from creval.providers.catalog import describe_judge
    from creval.reporting import plots
    from creval.reporting.plots.names import escape_plot_text
    from creval.reporting.sentences import benchmark_phrase

    without_effect = ("exclude", False, None)
    given = [name for name, value in scoring.items() if name not in ("seed", "resamples")]
    if any(scoring.get(name) not in without_effect for name in given):
        raise CrevalError("`repeats` uses all measurements of a run. Only `seed` can be used with it.")
    found, manifest = measure_repeat_variation(run, scoring.get("seed", 0)), run.manifest
    judge = f", judge {describe_judge(manifest['judge'])}" if manifest["judge"] else ""
    return plots.repeat_variation(
        found, protocol_of_run(manifest).schema, about=escape_plot_text(f"{benchmark_phrase(manifest)}{judge}. ")
    )


def report(
    run: RunLike,
    out: str | Path = "report.html",
    *,
    images: str = "inside",
    samples: int = 6,
    groups: Mapping[str, Sequence[str]] | None = None,
    beside: Sequence[str | Path] = (),
    published: bool = False,
    **scoring: Unpack[ScoringOptions],
) -> Path:
    """Write an HTML report with findings, tables, plots and example samples. Return its path.

    With `images="inside"`, thumbnails are embedded in the page; with `"link"`, the page links to the image files.
    `samples` is the number of example samples of each kind. `groups` maps names to models, as in `score`. `beside`
    lists other runs and score files to compare the scores with. `published` adds the numbers that the benchmark's paper
    published.
    """
    from creval.core.files import atomic_write
    from creval.reporting.html import report_page

    path = Path(out)
    if images not in ("inside", "link"):
        raise CrevalError(f"`images` takes inside or link, not {images!r}.")
    if path.is_dir():
        raise CrevalError(f"`out` {out} is a folder; give a file, such as report.html.")
    if path.suffix.casefold() not in (".html", ".htm"):
        raise CrevalError(f"`out` {out}: give a file that ends in .html.")
    with opened_run(_path_of(run)) as opened, ProgressLine() as line:
        card = scorecard(opened, scoring, groups=groups)
        content = report_page(
            opened,
            card,
            scoring.get("resamples", 2_000),
            samples_per_section=samples,
            link=path.parent if images == "link" else None,
            comparison=_compare(run, beside, scoring) if beside else None,
            watch=count_progress(line, "samples shown"),
            published=published_scores(opened, card) if published else None,
        )
    atomic_write(path, content)
    return path


def export(
    run: RunLike,
    out: str | Path,
    *,
    force: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
    beside: Sequence[str | Path] = (),
    **scoring: Unpack[ScoringOptions],
) -> tuple[Path, ...]:
    """Write verdicts and scores as Parquet and CSV, tables as Markdown and LaTeX, and a JSON file. Return the paths.

    Without `force`, it is an error if the folder contains other files. `groups` maps names to models, as in `score`.
    `beside` lists other runs and score files to compare the scores with.
    """
    from creval.reporting.export import check_export_folder, export_run

    folder = Path(out)
    check_export_folder(folder, force=force)
    with opened_run(_path_of(run)) as opened, ProgressLine() as line:
        names = export_run(
            opened,
            scorecard(opened, scoring, groups=groups),
            folder,
            resamples=scoring.get("resamples", 2_000),
            force=force,
            comparison=_compare(run, beside, scoring) if beside else None,
            watch=count_progress(line, "verdicts written"),
        )
    return tuple(folder / name for name in names)


def view(
    run: RunLike,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    open_browser: bool = False,
    token: bool = False,
    **scoring: Unpack[ViewOptions],
) -> None:
    """Serve web pages of a run until interrupted: scores, samples, questions, answers and images.

    For a folder of runs, serve a list of them. On a `host` other than loopback, the pages can only be opened by a link
    with a token; `token` requires it on loopback as well.
    """
    from creval.core.formatting import escape_control
    from creval.web.common.server import serve_app
    from creval.web.viewer.run_list import open_viewer

    folder = run.folder if isinstance(run, Run) else run_folder(run)
    with ProgressLine() as line:
        viewer = open_viewer(folder, scoring, lambda what: line.show(f"{what} ...") if line.due() else None)
    try:
        serve_app(
            host,
            port,
            viewer.app,
            lambda note: print(note, file=sys.stderr, flush=True),
            f"viewing {escape_control(str(run if isinstance(run, str) else folder))}",
            "Anyone with the link can see the run.",
            open_browser,
            token,
        )
    finally:
        viewer.close()
