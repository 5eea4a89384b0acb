"""`creval plot`: a run as a picture, for a paper or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, require_known

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.stats.scorecard import Scorecard

PLOT_KINDS = {
    "radar": "strong here, weak there: the groups of a level around a circle",
    "forest": "how sure: every model with its interval, and who cannot be told apart",
    "plane": "following against keeping (IF and VC, or IP)",
    "weights": "who is best under which weights of three metrics",
    "complexity": "each metric over the ordered groups of a level, such as C1 to C8",
    "repeats": "how much a score varies when it is measured again",
    "groups": "dots with intervals for each group of any level",
    "cost": "the score over what an edit costs or how long it takes, and one model's strategies",
}
_KINDS_WITH_LEVEL = ("radar", "groups", "complexity")


def plot(
    run: options.RunFolder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(PLOT_KINDS) + ".")],
    out: Annotated[str, typer.Option(metavar="FILE", help="The plot: .svg, .png or .pdf.")],
    level: Annotated[str | None, typer.Option(metavar="LEVEL", help="Whose groups: category, dimension ...")] = None,
    models: options.Models = None,
    metrics: Annotated[str | None, typer.Option(metavar="IF,VC", help="Only these metrics, joined by commas.")] = None,
    human: Annotated[
        str | None, typer.Option(metavar="FILE", help="With weights: mark those that people agree with most.")
    ] = None,
    scale: options.Scale = None,
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    missing: options.Missing = "exclude",
    common_samples: options.CommonSamples = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Draw a run: radar, forest, plane, weights, complexity, repeats, groups or cost."""
    from creval.analysis.scoring import score as score_run
    from creval.reporting import plots
    from creval.store import open_run
    from creval.store.provenance import read_provenance

    require_known("kind of plot", kind, PLOT_KINDS)
    plots.check_suffix(out)
    if level is not None and kind not in _KINDS_WITH_LEVEL:
        raise CrevalError(f"--level goes with {', '.join(_KINDS_WITH_LEVEL)}, not with {kind}.")
    columns = options.parse_names(metrics, "--metrics") or ()
    if columns and kind in ("plane", "weights", "repeats", "cost"):
        raise CrevalError(f"--metrics goes with radar, forest, groups and complexity, not {kind}.")
    if (human or scale) and kind != "weights":
        raise CrevalError("--human and --scale go with weights.")
    if kind == "repeats":
        given = (subset, weights, models, strict, missing, common_samples)
        if given != (None, None, None, False, "exclude", False):
            raise CrevalError("repeats are of all a run's measurements: only --seed goes with it.")
        made = _draw_repeats(run, seed)
    else:
        with open_run(run) as opened:
            chosen = options.parse_names(models, "--models")
            card = score_run(
                opened,
                strict=strict,
                subset=subset,
                weights=options.parse_weights(weights, opened.manifest),
                models=chosen,
                resamples=resamples,
                seed=seed,
                missing=missing,
                common=common_samples,
            )
            about = plots.describe_basis(card, opened.manifest)
            made_by = read_provenance(opened.manifest)
        if kind == "weights":
            made = _draw_weights(card, about, human, scale)
        elif kind == "cost":
            made = plots.cost(card, made_by, about=about)
        else:
            made = _draw(kind, card, level or "", columns, about, len(chosen or ()))
    plots.save_figure(made, out)
    console.print_note(f"wrote {out}: {PLOT_KINDS[kind]}")


def _draw(kind: str, card: Scorecard, level: str, metrics: tuple[str, ...], about: str, model_count: int) -> Figure:
    """The plot of a scorecard; models that were named are all shown."""
    from creval.reporting import plots

    if kind == "plane":
        return plots.plane(card, about=about)
    if kind == "forest":
        return plots.forest(card, metrics=metrics, about=about)
    draw = {"radar": plots.radar, "groups": plots.groups, "complexity": plots.complexity}[kind]
    if not model_count:
        return draw(card, level, metrics=metrics, about=about)
    if model_count > len(plots.COLOURS):
        raise CrevalError(
            f"{model_count} models cannot be told apart here: name up to {len(plots.COLOURS)}, or draw a "
            "forest, which has room for any number."
        )
    return draw(card, level, metrics=metrics, about=about, max_models=model_count)


def _draw_weights(card: Scorecard, about: str, human: str | None, scale: str | None) -> Figure:
    from creval.core.human_ratings import parse_rating_scale, read_human_ratings
    from creval.reporting import plots
    from creval.stats.human.weight_fit import find_agreeing_weights
    from creval.stats.weight_sensitivity import analyse_sensitivity

    found = analyse_sensitivity(card)
    if human is None:
        return plots.ternary(found, about=about)
    said = read_human_ratings(human, None if scale is None else parse_rating_scale(scale))
    agreed, _ = find_agreeing_weights(said.ratings, card.table, found)
    if not agreed:
        raise CrevalError(f"--human {human}: too few ratings of this run's edits to tell anything.")
    people = {name: one.best for name, one in agreed.items()}
    return plots.ternary(found, people=people, about=about)


def _draw_repeats(run: str, seed: int) -> Figure:
    from creval.analysis.measurement_repeats import measure_repeat_variation
    from creval.benchmarks import get_protocol
    from creval.reporting import plots
    from creval.reporting.plots.names import escape_plot_text
    from creval.store import open_run

    with open_run(run) as opened:
        found = measure_repeat_variation(opened, seed)
        manifest = opened.manifest
    judge = f", judge {manifest['judge']}" if manifest["judge"] else ""
    return plots.repeat_variation(
        found, get_protocol(manifest["protocol"]).schema, about=escape_plot_text(f"{manifest['benchmark']}{judge}. ")
    )
