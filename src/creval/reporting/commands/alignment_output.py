"""Output of `creval align`: agreement of scores with human ratings, as sentences, tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from creval.core.formatting import escape_control, format_value, pluralise
from creval.core.human_ratings import SkippedRows
from creval.core.schema import Digits
from creval.reporting.commands.people_output import people_json, people_notes, people_table, skipped_row_sentences
from creval.reporting.numbers import estimate_cell, format_estimate
from creval.reporting.output import FAINT, ITALIC, STRONG, CommandOutput, OutputTable, Row, TableCell
from creval.reporting.sentences import join_names
from creval.stats.human.alignment import (
    Alignment,
    MetricAlignment,
    RatingAlignment,
    WinRate,
    indistinguishable_from_best,
)
from creval.stats.human.paired_series import CorrelationEstimates, SeriesCorrelations
from creval.stats.human.people_summary import PeopleSummary
from creval.stats.human.ratings import UnmatchedRatings
from creval.stats.intervals import NO_ESTIMATE, Estimate
from creval.stats.scorecard import SIGNIFICANCE_LEVEL

_CORRELATIONS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
_CORRELATION = Digits(3, 2)
_PERCENT = Digits(1, 1)
_CEILING_LABEL = "one person vs. the others"
_MAX_NAMES = 5


def alignment_output(
    alignment: Alignment, left_out: Mapping[str, tuple[SkippedRows, ...]], people: Sequence[PeopleSummary] = ()
) -> CommandOutput:
    """Return how automatic scores correlate with human ratings, and the results of the human ratings alone.

    `left_out` are the unusable rows of each file.
    """
    sentences = [one for target in alignment.rating_alignments for one in _sentences(target)]
    return CommandOutput(
        sentences,
        [*_alignment_tables(alignment), *(people_table(summary) for summary in people if summary.card is not None)],
        {**_alignment_json(alignment, left_out), "said": people_json(people)},
        [*_notes(alignment, left_out), *people_notes([one for one in people if one.card is not None])],
    )


def _sentences(target: RatingAlignment) -> Iterator[str]:
    """Yield the findings for one kind of human ratings."""
    yield _agreement_sentence(target)
    yield from _preference_sentences(target)
    yield from _prediction_sentences(target)
    yield from _weight_sentences(target)


def _agreement_sentence(target: RatingAlignment) -> str:
    """Name the metric with the highest correlation, over samples or, if impossible, over models."""
    over = "samples" if any(_mean_spearman(held).value is not None for held in target.metric_alignments) else "models"
    there = [held for held in target.metric_alignments if _mean_spearman(held, over).value is not None]
    if over == "samples" and not _common_series(there):
        # Metrics without common models cannot be compared.
        there = [held for held in there if held.metric == target.main_metric] or there[:1]
    thing = f"people's {escape_control(target.metric)}"
    if not there:
        return f"No metric can be correlated with {thing}: there are too few values, or they are all the same."
    where = f"over {pluralise(there[0].model_count, 'model')}"
    if over == "samples":
        within = "pairs of models" if target.is_preference else "models"
        series = len(there[0].over_samples.by_series)
        where = f"over samples, within each of {series} {within}"
        if series == 1:
            where = f"over samples, within {'one pair of models' if target.is_preference else 'one model'}"
    best = indistinguishable_from_best(there)
    shown = next(held for held in there if held.metric == best[0])
    mean = _mean_spearman(shown, over)
    value = f"Spearman {format_estimate(mean, _CORRELATION)}"
    name = escape_control(shown.metric)
    if len(there) == 1:
        sentence = f"{name} correlates with {thing} {where}: {value}."
    elif len(best) == 1:
        sentence = f"Of {len(there)} metrics, {name} has the highest correlation with {thing} {where}: {value}."
    else:
        alike = join_names([escape_control(metric) for metric in best])
        values = [_mean_spearman(held, over).value or 0.0 for held in there if held.metric in best]
        ends = " to ".join(format_value(of(values), _CORRELATION) for of in (min, max))
        sentence = (
            f"It is not decided which of {len(there)} metrics has the highest correlation with {thing} {where}. "
            f"Candidates: {alike} (Spearman {ends})."
        )
    ceiling = target.ceiling and target.ceiling.over_samples.mean["spearman"]
    if over == "samples" and ceiling and ceiling.value is not None:
        sentence += f" One person compared with the others: {format_estimate(ceiling, _CORRELATION)}."
    return sentence


def _common_series(aligned: Sequence[MetricAlignment]) -> set[str]:
    """Return the models or pairs of models for which every metric has a correlation over samples."""
    return set.intersection(*(set(one.over_samples.by_series) for one in aligned)) if aligned else set()


def _preference_sentences(target: RatingAlignment) -> Iterator[str]:
    if not target.is_preference:
        return
    main = next(held for held in target.metric_alignments if held.metric == target.main_metric)
    if main.accuracy.value is None:
        return
    sentence = (
        f"{escape_control(target.main_metric)} prefers the edit that people prefer in "
        f"{format_estimate(_in_percent(main.accuracy), _PERCENT)} % of the comparisons without a tie between people"
    )
    if target.ceiling is not None and target.ceiling.accuracy.value is not None:
        sentence += f", one person in {format_estimate(_in_percent(target.ceiling.accuracy), _PERCENT)} %"
    yield f"{sentence}."


def _prediction_sentences(target: RatingAlignment) -> Iterator[str]:
    helped = [found for found in target.predictions if found.rated < found.scored]
    trusted = [found for found in helped if found.interval_reduction is not None]
    if trusted:
        predicted, classical = (sum(getattr(f, of).width for f in trusted) for of in ("predicted", "classical"))
        gain = 100 * (1 - predicted / classical)
        rated, scored = (sum(getattr(found, of) for found in trusted) for of in ("rated", "scored"))
        change = f"{gain:.0f} % narrower" if gain >= 0 else f"{-gain:.0f} % wider"
        yield (
            f"If {escape_control(target.main_metric)} scores of {scored:,} edits are used together with people's "
            f"{escape_control(target.metric)} of {rated:,}, the interval of a model's mean rating is {change}."
        )
    doubtful: dict[str, list[str]] = {}
    for found in target.predictions:
        if found.unreliable_reason:
            doubtful.setdefault(found.unreliable_reason, []).append(escape_control(found.model))
    if doubtful:
        shown = "; ".join(f"{_abbreviate_names(models)} ({why})" for why, models in doubtful.items())
        yield f"The interval of the mean rating is not reliable for {shown}."


def _abbreviate_names(names: Sequence[str]) -> str:
    """Join names. Only the first few of many are listed."""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def _weight_sentences(target: RatingAlignment) -> Iterator[str]:
    if target.weights is None:
        return
    best, apart = target.weights.best, target.weights.difference
    shown = ", ".join(f"{escape_control(n)} {format_estimate(w, Digits(2, 2))}" for n, w in best.items())
    decided = "not significant"
    if apart.low is not None and apart.high is not None:
        decided = "better" if apart.low > 0 else "worse" if apart.high < 0 else "not significant"
    new, old = (format_value(of.value, _CORRELATION) for of in (target.weights.held_out, target.weights.current))
    value, ends, *_ = estimate_cell(apart, _CORRELATION, "+")
    yield (
        f"The weights that agree best with people's {escape_control(target.metric)} are {shown}. On held-out samples "
        f"they reach Pearson {new}, and {escape_control(target.main_metric)} {old} "
        f"(difference {value} {ends}: {decided})."
    )


def _notes(alignment: Alignment, left_out: Mapping[str, tuple[SkippedRows, ...]]) -> Iterator[str]:
    """Yield notes on how correlations are computed and on unused rows."""
    yield (
        "Over models: correlation of the models' means, with an interval over models. Over samples: correlation "
        "within each model (for choices, within each pair of models), averaged with Fisher's z, with an interval "
        "over samples. All intervals are 95 % intervals."
    )
    yield from unused_rating_sentences(left_out, alignment.unmatched)
    for said in alignment.rating_alignments:
        flat = sorted({name for held in said.metric_alignments for name in held.over_samples.skipped})
        if flat and any(held.over_samples.by_series for held in said.metric_alignments):
            yield (
                f"{escape_control(said.metric)}: no correlation over samples, because there are too few values or "
                f"nearly all are equal, for {_abbreviate_names([escape_control(name) for name in flat])}."
            )


def unused_rating_sentences(
    left_out: Mapping[str, tuple[SkippedRows, ...]], unmatched: UnmatchedRatings
) -> Iterator[str]:
    """Yield sentences on rows of rating files that could not be used."""
    yield from skipped_row_sentences(left_out)
    if unmatched.ratings:
        both = (("models", unmatched.models), ("samples", unmatched.samples))
        words = "; ".join(f"{name} {_abbreviate_names([repr(one) for one in of])}" for name, of in both if of)
        yield f"{pluralise(unmatched.ratings, 'rating')} without a score to compare with: {words}."


def _alignment_tables(alignment: Alignment) -> Iterator[OutputTable]:
    for said in alignment.rating_alignments:
        yield _agreement_table(said)
        if said.differences:
            yield _metric_differences_table(said)
        if any(row.rated < row.scored or row.unreliable_reason for row in said.predictions):
            yield _prediction_table(said)
        if said.model_wins:
            yield _wins_table(said, said.model_wins, "model")
        if len(said.pair_wins) > 1:
            yield _wins_table(said, said.pair_wins, "first over second")


def _agreement_table(target: RatingAlignment) -> OutputTable:
    words = "choices" if target.is_preference else "ratings"
    several = f", {target.rater_count} people" if target.rater_count > 1 else ""
    over = ("over models", "over samples")
    heads = [f"{where}\n{kind}" for where in over for kind in _CORRELATIONS.values()]
    rows: list[Row] = [
        [held.metric, *_correlation_cells(held.over_models, held.over_samples, held.accuracy)]
        for held in target.metric_alignments
    ]
    caption = ""
    if target.ceiling is not None:
        nothing = dict.fromkeys(_CORRELATIONS, NO_ESTIMATE)
        cells = _correlation_cells(nothing, target.ceiling.over_samples, target.ceiling.accuracy)
        rows.append([TableCell(_CEILING_LABEL, mark=ITALIC), *cells])
        if target.ceiling.alpha.value is not None:
            caption = f"Krippendorff's alpha between people: {format_estimate(target.ceiling.alpha, _CORRELATION)}"
    return OutputTable(
        ["metric", *heads, "pairwise\naccuracy, %"],
        rows,
        f"people's {target.metric}: {target.value_count:,} {words}{several}",
        caption,
        section_starts=frozenset({len(target.metric_alignments)}),
    )


def _metric_differences_table(target: RatingAlignment) -> OutputTable:
    """Return the differences between metrics in their rank correlation with people."""
    rows: list[Row] = []
    for found in target.differences:
        decided = found.p is not None and found.p <= SIGNIFICANCE_LEVEL
        better = "not decided"
        if decided:
            better = found.first if (found.spearman.value or 0) > 0 else found.second
        p = "–" if found.p is None else f"{found.p:.3f}"
        cell = estimate_cell(found.spearman, _CORRELATION, "+", STRONG if decided else FAINT)
        rows.append([found.first, found.second, cell, p, better])
    return OutputTable(
        ["metric", "minus", "Spearman\nover samples", "p", "agrees better"],
        rows,
        f"which metric agrees better with people's {target.metric}",
        f"Paired over samples; p corrected for {pluralise(len(rows), 'pair')} after Holm.",
        text_columns=2,
    )


def _correlation_cells(model: CorrelationEstimates, sample: SeriesCorrelations, accuracy: Estimate) -> Row:
    over = [estimate_cell(of[kind], _CORRELATION) for of in (model, sample.mean) for kind in _CORRELATIONS]
    return [*over, estimate_cell(_in_percent(accuracy), _PERCENT)]


def _prediction_table(target: RatingAlignment) -> OutputTable:
    rows: list[Row] = []
    for found in target.predictions:
        gain = "" if found.interval_reduction is None else f"{100 * found.interval_reduction:.0f} %"
        rows.append(
            [
                found.model,
                f"{found.rated:,}",
                f"{found.scored:,}",
                estimate_cell(found.classical, _PERCENT),
                estimate_cell(found.predicted, _PERCENT),
                "unreliable" if found.unreliable_reason else gain,
            ]
        )
    heads = ["model", "rated", "scored", "ratings alone", f"with {target.main_metric}", "narrower"]
    return OutputTable(heads, rows, f"mean {target.metric} by people over all edits, in percent")


def _wins_table(target: RatingAlignment, won: Mapping[str, WinRate], first: str) -> OutputTable:
    rows: list[Row] = [
        [name, *(estimate_cell(_in_percent(of), _PERCENT) for of in won[name])]
        for name in sorted(won, key=lambda name: -(won[name].people.value or 0.0))
    ]
    heads = [first, "by people", f"by {target.main_metric}"]
    return OutputTable(heads, rows, f"comparisons won in people's {target.metric}, in percent")


def _mean_spearman(aligned: MetricAlignment, over: str = "samples") -> Estimate:
    return aligned.over_samples.mean["spearman"] if over == "samples" else aligned.over_models["spearman"]


def _in_percent(share: Estimate) -> Estimate:
    return Estimate(*(None if number is None else 100 * number for number in vars(share).values()))


def _alignment_json(alignment: Alignment, left_out: Mapping[str, tuple[SkippedRows, ...]]) -> dict[str, Any]:
    """Return all results, unrounded, as nested dicts by `people`, kind of human rating and metric."""
    scores = alignment.scores
    return {
        "metrics": list(scores.metrics),
        "models": list(scores.models),
        "samples": len(scores.samples),
        "left_out": {path: [row._asdict() for row in rows] for path, rows in left_out.items()},
        "unmatched": {
            "ratings": alignment.unmatched.ratings,
            "models": list(alignment.unmatched.models),
            "samples": list(alignment.unmatched.samples),
        },
        "people": {said.metric: _target_json(said) for said in alignment.rating_alignments},
    }


def _target_json(target: RatingAlignment) -> dict[str, Any]:
    ceiling, weights = target.ceiling, target.weights
    return {
        "kind": "choices" if target.is_preference else "ratings",
        "main": target.main_metric,
        "raters": target.rater_count,
        "values": target.value_count,
        "metrics": {
            held.metric: {
                "system": _estimates_json(held.over_models),
                "sample": _correlated_json(held.over_samples),
                "accuracy": held.accuracy.to_dict(),
                "models": held.model_count,
                "values": held.value_count,
            }
            for held in target.metric_alignments
        },
        "ceiling": ceiling
        and {
            "sample": _correlated_json(ceiling.over_samples),
            "accuracy": ceiling.accuracy.to_dict(),
            "alpha": ceiling.alpha.to_dict(),
        },
        "predicted": {
            found.model: {
                "predicted": found.predicted.to_dict(),
                "classical": found.classical.to_dict(),
                "rated": found.rated,
                "scored": found.scored,
                "weight": found.weight,
                "narrower": found.interval_reduction,
                "doubt": found.unreliable_reason,
            }
            for found in target.predictions
        },
        "differences": [
            {"first": of.first, "second": of.second, "spearman": of.spearman.to_dict(), "p": of.p}
            for of in target.differences
        ],
        "wins": {name: _estimates_json(won._asdict()) for name, won in target.model_wins.items()},
        "over": {name: _estimates_json(won._asdict()) for name, won in target.pair_wins.items()},
        "weights": weights
        and {
            "best": _estimates_json(weights.best),
            "held_out": weights.held_out.to_dict(),
            "given": weights.current.to_dict(),
            "difference": weights.difference.to_dict(),
        },
    }


def _estimates_json(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in found.items()}


def _correlated_json(found: SeriesCorrelations) -> dict[str, Any]:
    by_series = {name: _estimates_json(of) for name, of in found.by_series.items()}
    return {**_estimates_json(found.mean), "strands": by_series, "flat": list(found.skipped)}
