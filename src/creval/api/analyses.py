"""Analyses of a run: scores, comparisons, agreement, and checks of their reliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.analysis.scoring_options import SAVED_CHOICE, ScoringOptions, choice_to_save, resolve_options
from creval.api.inputs import RunLike, opened_run, read_ratings
from creval.core.errors import CrevalError, require_known
from creval.core.progress_line import ProgressLine, count_progress
from creval.core.schema import Weights
from creval.reporting.commands.score_output import ScoreResult
from creval.reporting.result import Result
from creval.store.run import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from creval.analysis.comparison import Comparison
    from creval.analysis.correction import CorrectedScores
    from creval.analysis.item_statistics import ItemStatistics
    from creval.analysis.measurement_repeats import RepeatVariation
    from creval.analysis.published_scores import PublishedScores
    from creval.analysis.unchanged_edits import UnchangedSummary
    from creval.core.human_ratings import SkippedRows
    from creval.stats.agreement import Agreement
    from creval.stats.human.alignment import Alignment
    from creval.stats.human.people_summary import PeopleSummary
    from creval.stats.human.ratings import MetricScores
    from creval.stats.scorecard import Scorecard
    from creval.stats.weight_sensitivity import Sensitivity


def scorecard(
    run: Run, options: ScoringOptions, *, average: bool = False, groups: Mapping[str, Sequence[str]] | None = None
) -> Scorecard:
    """Return the scorecard of an open run, given the options of `score`."""
    from creval.analysis.scoring import score as score_run

    given: dict[str, Any] = dict(resolve_options(options, run.manifest))
    common = given.pop("common_samples", False)
    return score_run(run, common=common, average=average, groups=resolve_groups(run, groups), **given)


def resolve_groups(run: Run, groups: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]]:
    """Return the groups with the model names that the open run uses."""
    return {name: [run.resolve_model(one) for one in members] for name, members in (groups or {}).items()}


def corrected_scores(run: Run, card: Scorecard, file: str | Path, resamples: int, seed: int) -> CorrectedScores:
    """Correct scores for the judge's error rates, read from a file written by `calibrate`."""
    from creval.analysis.correction import correct_scores
    from creval.core.files import read_json
    from creval.stats.calibration import parse_calibration

    rates = parse_calibration(read_json(Path(file)), str(file))
    return correct_scores(run, card, rates, resamples=resamples, seed=seed)


def published_scores(run: Run, card: Scorecard) -> PublishedScores:
    """Return the published numbers comparable with a scorecard."""
    from creval.analysis.published_scores import find_published_scores

    return find_published_scores(run, card)


def save_scoring(run: RunLike, options: ScoringOptions) -> dict[str, Any]:
    """Save `subset`, `missing`, `weights` and `models` as the defaults of everything that shows the run's scores."""
    from creval.store import RunWriter

    with opened_run(run) as opened:
        choice = choice_to_save(options, opened.manifest)
        scorecard(opened, {**options, "resamples": 100})  # invalid options raise here, before they are saved
    with RunWriter(opened.folder) as store, store.transaction():
        store.put_manifest({SAVED_CHOICE: choice})
    return choice


def score(
    run: RunLike,
    by: str | Sequence[str] = "overall",
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    models: Sequence[str] | None = None,
    missing: str | None = None,
    common_samples: bool = False,
    average: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
    correct: str | Path | None = None,
    published: bool = False,
    save: bool = False,
    resamples: int = 2_000,
    seed: int = 0,
) -> ScoreResult:
    """Score a run. Each score has a 95 % interval and a coverage.

    `by` selects the levels or groups to show; `.frame()` always has all of them. `missing="zero"` counts samples
    without an edit as failed. `common_samples` uses only samples for which every model has an edit. `subset`,
    `missing`, `weights` and `models` default to the values saved with the run; `save` saves the given ones. `groups`
    maps names to models: it adds the mean of each group and the differences between groups. `correct` is a file written
    by `calibrate`; it adds scores corrected for the judge's errors. `published` adds the numbers that the benchmark's
    paper published, marked as such.
    """
    from creval.reporting import tables
    from creval.reporting.commands.score_output import score_output

    scoring: ScoringOptions = {"strict": strict, "subset": subset, "weights": weights, "missing": missing}
    chosen = None if models is None else tuple(models)
    scoring |= {"models": chosen, "common_samples": common_samples, "resamples": resamples, "seed": seed}
    if save:
        save_scoring(run, scoring)
    with opened_run(run) as opened:
        card = scorecard(opened, scoring, average=average, groups=groups)
        shown = tables.select_groups(card, [by] if isinstance(by, str) else list(by))
        grids, corrected = list(tables.score_tables(card, shown, card.model_groups)), None
        if correct is not None:
            corrected = corrected_scores(opened, card, correct, resamples, seed)
            grids += tables.corrected_tables(card, corrected, shown)
        beside = published_scores(opened, card) if published else None
        return ScoreResult(card, score_output(opened, card, shown, resamples, corrected, grids, beside))


def compare(
    run: RunLike,
    first: str,
    second: str,
    *,
    strict: bool = False,
    subset: str | None = None,
    weights: Weights | None = None,
    missing: str | None = None,
    top: int = 5,
    resamples: int = 2_000,
    seed: int = 0,
) -> Result[Comparison]:
    """Compare two models on the samples that both have edited. Show how much they differ, overall and by group.

    `top` is the number of samples to show: those with the largest differences.
    """
    from creval.analysis.comparison import compare as compare_models
    from creval.reporting.commands.comparison_output import comparison_output

    if first == second:
        raise CrevalError(f"{first!r} is given twice; give two different models.")
    with opened_run(run) as opened:
        chosen = resolve_options({"subset": subset, "weights": weights, "missing": missing}, opened.manifest)
        found = compare_models(
            opened,
            opened.resolve_model(first),
            opened.resolve_model(second),
            strict=strict,
            subset=chosen["subset"],
            weights=chosen["weights"],
            resamples=resamples,
            seed=seed,
            top=top,
            missing=chosen["missing"] or "exclude",
        )
    records = [
        {"level": level, "group": group, "metric": column, **cell.to_dict(), "decided": cell.is_decided}
        for (level, group, column), cell in found.differences.items()
    ]
    return Result(found, comparison_output(found), records)


def agree(
    runs: RunLike | Sequence[RunLike] = (),
    *,
    human: str | Path | None = None,
    scale: str | None = None,
    by: str | None = None,
    distance: str | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> Result[Mapping[tuple[str, str], Agreement]]:
    """Measure the agreement of judges and repeats or, with `human`, of the raters in a CSV file.

    `by` is a level, such as `task`: agreement is also shown for each of its groups. `distance` is the distance of
    Krippendorff's alpha: nominal, ordinal or interval.
    """
    from creval.analysis.answer_tables import collect_answers, collect_rater_answers
    from creval.reporting.commands.agreement_output import agreement_output
    from creval.stats.agreement import DISTANCE_NAMES, agreement_by_group

    if distance is not None:
        require_known("distance", distance, DISTANCE_NAMES)
    given = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    if not given and human is None:
        raise CrevalError("give one or more runs, or `human` FILE.")
    if scale is not None and human is None:
        raise CrevalError("`scale` needs `human` FILE.")
    with ExitStack() as stack:
        opened = [stack.enter_context(opened_run(run, labels=False)) for run in given]
        levels = {level.name: level for run in opened for level in run.levels if level.groups_samples}
        if human is None:
            table = collect_answers(opened)
        else:
            tags = {name: s.tags for run in opened for name, s in run.samples.items()}
            table = collect_rater_answers(read_ratings(human, scale).ratings, tags)
        if by is not None and not opened:
            raise CrevalError("`by` needs a run, because the groups of samples are stored there; give a run as well.")
        level = None if by is None else levels[require_known("level", by, levels)]
        found = agreement_by_group(table, level, distance, resamples, seed)
        output = agreement_output(table, found, distance)
    return Result(found, output, output.data["groups"])


def items(run: RunLike, *, subset: str | None = None, top: int = 20) -> Result[Sequence[ItemStatistics]]:
    """Measure how difficult and how informative each question is, and flag questions to rewrite."""
    from creval.analysis.item_statistics import item_statistics
    from creval.reporting.commands.items_output import items_output

    with opened_run(run) as opened:
        found = item_statistics(opened, resolve_options({"subset": subset}, opened.manifest)["subset"])
        output = items_output(found, top)
    return Result(found, output, output.data["questions"])


def repeats(run: RunLike, *, error: float | None = None, seed: int = 0) -> Result[RepeatVariation]:
    """Measure how much scores vary between repeats, and how many repeats a given `error` needs."""
    from creval.analysis.measurement_repeats import measure_repeat_variation
    from creval.reporting.commands.repeats_output import repeats_output

    with opened_run(run) as opened:
        found = measure_repeat_variation(opened, seed)
    records = [
        {"metric": metric, "deviation": found.standard_deviation[metric], "measurements": count, "variation": variation}
        for metric, observed in found.observed.items()
        for count, variation in (observed or {1: found.variation(metric, 1)}).items()
    ]
    return Result(found, repeats_output(found, error), records)


def sensitivity(
    run: RunLike, *, human: str | Path | None = None, scale: str | None = None, **scoring: Unpack[ScoringOptions]
) -> Result[Sensitivity]:
    """Show which model would be best under other metric weights.

    With `human`, a CSV file of ratings, also find the weights that agree best with the raters.
    """
    from creval.reporting import missing_edits
    from creval.reporting.commands.alignment_output import unused_rating_sentences
    from creval.reporting.commands.sensitivity_output import sensitivity_output
    from creval.stats.human.weight_fit import WeightAgreement, find_agreeing_weights
    from creval.stats.weight_sensitivity import analyse_sensitivity

    if scale is not None and human is None:
        raise CrevalError("`scale` needs `human` FILE.")
    with opened_run(run) as opened:
        card = scorecard(opened, {"resamples": 100, **scoring})
        notes = missing_edits.missing_policy_sentences(card.table, missing_edits.missing_from_table(opened, card.table))
    found = analyse_sensitivity(card)
    people: dict[str, WeightAgreement] = {}
    if human is not None:
        ratings = read_ratings(human, scale, opened)
        people, unmatched = find_agreeing_weights(ratings.ratings, card.table, found)
        notes += unused_rating_sentences({str(human): ratings.skipped_rows}, unmatched)
        if not people:
            raise CrevalError(f"`human` {human}: too few ratings of this run's edits to fit weights.")
    output = sensitivity_output(found, people, notes)
    return Result(found, output, [{"model": name, **one} for name, one in output.data["models"].items()])


def unchanged(
    run: RunLike, *, subset: str | None = None, resamples: int = 2_000, seed: int = 0
) -> Result[Sequence[UnchangedSummary]]:
    """Find models that return sources unchanged.

    Also score the consistency of the edits that follow the instruction.
    """
    from creval.analysis.unchanged_edits import following_threshold, scan_for_changes, summarise_unchanged
    from creval.reporting.commands.unchanged_output import unchanged_output

    folder = run.folder if isinstance(run, Run) else Path(run)
    with ProgressLine() as line:
        lost = scan_for_changes(folder, count_progress(line, "edits compared"))
    with opened_run(run) as opened:
        card = scorecard(opened, {"subset": subset, "resamples": resamples, "seed": seed})
        found = summarise_unchanged(opened, card, resamples, seed)
    output = unchanged_output(found, following_threshold(card), lost)
    return Result(found, output, output.data["models"])


def align(
    run: RunLike | Sequence[str | Path] | None = None,
    *,
    human: str | Path,
    scores: str | Path | None = None,
    scale: str | None = None,
    lower: Sequence[str] | None = None,
    subset: str | None = None,
    strict: bool = False,
    weights: Weights | None = None,
    resamples: int = 2_000,
    seed: int = 0,
) -> Result[Alignment] | Result[list[PeopleSummary]]:
    """Compare scores with people's ratings or choices.

    The scores are those of a run, of the file `scores`, or of a list of several runs and score files. Entries of the
    list can be named, such as `gpt4o=runs/a`. Without scores, only the ratings are summarised. `human` is a CSV file of
    ratings. `lower` names the metrics of score files for which lower is better.
    """
    from creval.reporting.commands.alignment_output import alignment_output
    from creval.reporting.commands.people_output import people_output
    from creval.stats.human.alignment import align as align_scores
    from creval.stats.human.people_summary import summarise_people

    given = [] if run is None else [run] if isinstance(run, str | Path | Run) else list(run)
    if scores is not None:
        given.append(str(scores))
    scoring: ScoringOptions = {"subset": subset, "strict": strict, "weights": weights}
    with ExitStack() as stack:
        opened = stack.enter_context(opened_run(given[0])) if _is_single_run(given) else None
        ratings = read_ratings(human, scale, opened)
        left_out = {str(human): ratings.skipped_rows}
        if not given:
            _require_none(scoring, lower)
            found = summarise_people(ratings.ratings, resamples=resamples, seed=seed)
            said = people_output(found, left_out)
            return Result(found, said, [{"people": name, **one} for name, one in said.data["people"].items()])
        held, clusters = _read_metric_scores(opened, given, scoring, lower, left_out)
    aligned = align_scores(ratings.ratings, held, resamples=resamples, seed=seed)
    output = alignment_output(aligned, left_out, summarise_people(ratings.ratings, clusters, resamples=resamples))
    records = [
        {"people": people, "metric": metric, **_without_series(one)}
        for people, target in output.data["people"].items()
        for metric, one in target["metrics"].items()
    ]
    return Result(aligned, output, records)


def _is_single_run(given: Sequence[RunLike]) -> bool:
    from creval.analysis.score_sources import is_score_file

    return len(given) == 1 and (isinstance(given[0], Run) or not is_score_file(str(given[0])))


def _require_none(scoring: ScoringOptions, lower: Sequence[str] | None) -> None:
    if any(scoring.values()) or lower:
        raise CrevalError("`subset`, `strict`, `weights` and `lower` need a run or scores.")


def _read_metric_scores(
    run: Run | None,
    given: Sequence[RunLike],
    scoring: ScoringOptions,
    lower: Sequence[str] | None,
    left_out: dict[str, tuple[SkippedRows, ...]],
) -> tuple[MetricScores, dict[str, str]]:
    """Return the scores of a run or of several sources, and the cluster of each sample.

    The rows of score files that were skipped are added to `left_out`, by file.
    """
    from creval.analysis.score_sources import combine_tables, read_tables
    from creval.analysis.scoring import build_score_table
    from creval.stats.human.ratings import metric_scores_from_table

    if run is not None:
        if lower is not None:
            raise CrevalError("`lower` is for score files only; a run stores the direction of its metrics.")
        chosen = resolve_options(scoring, run.manifest)
        options: dict[str, Any] = {name: chosen.get(name) for name in ("strict", "subset", "weights")}
        held = metric_scores_from_table(build_score_table(run, **options))
    else:
        tables = read_tables([one.folder if isinstance(one, Run) else one for one in given], scoring, lower or ())
        if all(named.is_file for named in tables) and any(scoring.values()):
            raise CrevalError("`subset`, `strict` and `weights` need a run instead of `scores`.")
        left_out |= {named.path: named.skipped_rows for named in tables if named.skipped_rows}
        held = combine_tables(tables)
    return held, {name: str(unit) for name, unit in zip(held.samples, held.clusters.tolist(), strict=True)}


def _without_series(entry: Mapping[str, Any]) -> dict[str, Any]:
    sample = {name: one for name, one in entry["sample"].items() if name not in ("strands", "flat")}
    return {**entry, "sample": sample}
