"""`creval plot`: a run as a picture, for a paper or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options
from creval.core.errors import CrevalError, known_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from creval.stats.scorecard import Scorecard

KINDS = {
    "radar": "strong here, weak there: the groups of a level around a circle",
    "forest": "how sure: every model with its interval, and who cannot be told apart",
    "plane": "following against keeping (IF and VC, or IP)",
    "weights": "who is best under which weights of three metrics",
    "complexity": "each metric over the ordered groups of a level, such as C1 to C8",
    "repeats": "how much a score varies when it is measured again",
    "groups": "dots with intervals for each group of any level",
    "cost": "the score over what an edit costs or how long it takes, and one model's strategies",
}
_LEVELLED = ("radar", "groups", "complexity")


def plot(
    run: options.RunFolder,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(KINDS) + ".")],
    out: Annotated[str, typer.Option(metavar="FILE", help="The plot: .svg, .png or .pdf.")],
    level: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Whose groups: category, dimension ...")
    ] = None,
    models: options.Models = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="IF,VC", help="Only these metrics, joined by commas.")
    ] = None,
    human: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With weights: mark those that people agree with most."),
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
    from creval.analysis.score_table import score as score_run
    from creval.report import plots
    from creval.store import open_run
    from creval.store.provenance import makers

    known_name("kind of plot", kind, KINDS)
    plots.check_suffix(out)
    if level is not None and kind not in _LEVELLED:
        raise CrevalError(f"--level goes with {', '.join(_LEVELLED)}, not with {kind}.")
    columns = options.names(metrics, "--metrics") or ()
    if columns and kind in ("plane", "weights", "repeats", "cost"):
        raise CrevalError(f"--metrics goes with radar, forest, groups and complexity, not {kind}.")
    if (human or scale) and kind != "weights":
        raise CrevalError("--human and --scale go with weights.")
    if kind == "repeats":
        given = (subset, weights, models, strict, missing, common_samples)
        if given != (None, None, None, False, "exclude", False):
            raise CrevalError("repeats are of all a run's measurements: only --seed goes with it.")
        made = _repeats(run, seed)
    else:
        with open_run(run) as opened:
            chosen = options.names(models, "--models")
            card = score_run(opened,
                strict=strict, subset=subset,
                weights=options.weights(weights, opened.manifest), systems=chosen,
                resamples=resamples, seed=seed, missing=missing, common=common_samples,
            )  # fmt: skip
            about = plots.about(card, opened.manifest)
            made_by = makers(opened.manifest)
        if kind == "weights":
            made = _weights(card, about, human, scale)
        elif kind == "cost":
            made = plots.cost(card, made_by, about=about)
        else:
            made = _drawn(kind, card, level or "", columns, about, len(chosen or ()))
    plots.save(made, out)
    console.note(f"wrote {out}: {KINDS[kind]}")


def _drawn(
    kind: str, card: Scorecard, level: str, metrics: tuple[str, ...], about: str, named: int
) -> Figure:
    """The plot of a scorecard; models that were named are all shown."""
    from creval.report import plots

    if kind == "plane":
        return plots.plane(card, about=about)
    if kind == "forest":
        return plots.forest(card, metrics=metrics, about=about)
    draw = {"radar": plots.radar, "groups": plots.groups, "complexity": plots.complexity}[kind]
    if not named:
        return draw(card, level, metrics=metrics, about=about)
    if named > len(plots.COLOURS):
        raise CrevalError(
            f"{named} models cannot be told apart here: name up to {len(plots.COLOURS)}, or draw a "
            "forest, which has room for any number."
        )
    return draw(card, level, metrics=metrics, about=about, most=named)


def _weights(card: Scorecard, about: str, human: str | None, scale: str | None) -> Figure:
    from creval.core.human_ratings import read_people, scale_named
    from creval.report import plots
    from creval.stats.human.weight_fit import agreed_weights
    from creval.stats.sensitivity import sensitivity

    found = sensitivity(card)
    if human is None:
        return plots.ternary(found, about=about)
    said = read_people(human, None if scale is None else scale_named(scale))
    agreed, _ = agreed_weights(said.ratings, card.table, found)
    if not agreed:
        raise CrevalError(f"--human {human}: too few ratings of this run's edits to tell anything.")
    people = {name: one.best for name, one in agreed.items()}
    return plots.ternary(found, people=people, about=about)


def _repeats(run: str, seed: int) -> Figure:
    from creval.analysis.repeats import repeats
    from creval.benchmarks import protocol_named
    from creval.report import plots
    from creval.report.plots.names import harmless
    from creval.store import open_run

    with open_run(run) as opened:
        found = repeats(opened, seed)
        manifest = opened.manifest
    judge = f", judge {manifest['judge']}" if manifest["judge"] else ""
    return plots.repeats(
        found,
        protocol_named(manifest["protocol"]).card,
        about=harmless(f"{manifest['benchmark']}{judge}. "),
    )
