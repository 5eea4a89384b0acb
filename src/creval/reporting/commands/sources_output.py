"""Scores of the same models by several sources, side by side: scores, ranks, agreement, and reversed pairs of models.

A source of scores is a run or a score file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from creval.core.formatting import escape_control, pluralise
from creval.core.schema import Digits
from creval.reporting.commands.people_output import skipped_row_sentences
from creval.reporting.numbers import estimate_cell, format_coverage, format_estimate, format_places
from creval.reporting.output import BEST, FAINT, SECOND, STRONG, CommandOutput, OutputTable, Row, TableCell
from creval.reporting.sentences import join_names
from creval.stats.intervals import Estimate
from creval.stats.scorecard import Difference
from creval.stats.source_agreement import ReversedPair, ScoreSource, SourceComparison, SourcePair

_CORRELATION = Digits(3, 2)
_MARKS = {1: BEST, 2: SECOND}
_MAX_PAIRS = 20  # reversed pairs in a table
_MAX_SENTENCES = 6


def sources_output(comparison: SourceComparison) -> CommandOutput:
    """Compare runs or score files.

    Return each model's score and ranks in each of them, the agreement of each two of them, and the pairs of models that
    two of them put in opposite order.
    """
    grids = [scores_table(comparison)]
    if comparison.pairs:
        grids.append(agreement_table(comparison))
    reversals = [(pair, flipped) for pair in comparison.pairs for flipped in pair.reversed_pairs]
    if reversals:
        grids.append(_reversed_table(comparison, reversals))
    sentences = [_agreement_sentence(pair) for pair in comparison.pairs[:_MAX_SENTENCES]]
    return CommandOutput(sentences, grids, _comparison_json(comparison), list(_notes(comparison)))


def source_differences_output(comparison: SourceComparison, first: str, second: str) -> CommandOutput:
    """Return the difference of two models in each run or score file."""
    found = [(source, source.difference(first, second)) for source in comparison.sources]
    rows: list[Row] = []
    for source, apart in found:
        if apart is None or apart.value is None:
            rows.append([source.name, source.column, "–", "", "", "not scored on the same samples"])
            continue
        mark = STRONG if apart.is_decided else FAINT
        p = "" if apart.p is None else f"{apart.p:.3f}"
        rows.append(
            [
                source.name,
                source.column,
                estimate_cell(apart, source.digits, "+", mark),
                f"{apart.samples:,}",
                p,
                _verdict(apart),
            ]
        )
    names = escape_control(first), escape_control(second)
    table = OutputTable(
        ["source", "metric", "difference", "samples", "p", "better"],
        rows,
        f"{names[0]} minus {names[1]}",
        "Positive: the first model is better, also where a lower score is better.",
        text_columns=2,
    )
    data = {
        "first": first,
        "second": second,
        "sources": [
            {"source": source.name, "path": source.path, "metric": source.column, **_difference_json(apart)}
            for source, apart in found
        ],
    }
    return CommandOutput([_difference_sentence(names, [of for _, of in found])], [table], data, _BASIS)


_BASIS = (
    "Differences are paired over samples, with 95 % intervals. Decided: sign-flip test at 5 %, corrected after Holm "
    "for the pairs of models of each source.",
)


def _difference_sentence(names: tuple[str, str], found: Sequence[Difference | None]) -> str:
    decided = [apart for apart in found if apart is not None and apart.is_decided]
    ahead = sum((apart.value or 0) > 0 for apart in decided)
    count = pluralise(len(found), "source")
    if not decided:
        return f"In none of {count} is the difference between {names[0]} and {names[1]} significant."
    wins = [(name, n) for name, n in ((names[0], ahead), (names[1], len(decided) - ahead)) if n]
    parts = " and ".join(f"{name} is better in {n}" for name, n in wins)
    text = f"In {len(decided)} of {count} the difference is significant: {parts}."
    return f"{text} The sources contradict each other." if len(wins) > 1 else text


def _verdict(apart: Difference) -> str:
    if not apart.is_decided or not apart.value:
        return "not decided"
    return apart.first if apart.value > 0 else apart.second


def scores_table(comparison: SourceComparison) -> OutputTable:
    """Return a row for each model and a column for each run or score file: score, interval, and possible ranks."""
    ranked = {source.name: source.ranked_models for source in comparison.sources}
    rows: list[Row] = []
    for name in comparison.models:
        row: Row = [name]
        for source in comparison.sources:
            row.append(_score_cell(source, name, ranked[source.name]))
        rows.append(row)
    heads = [_source_head(source) for source in comparison.sources]
    caption = "Beside each score: the ranks that the model can hold. Models by their mean rank."
    return OutputTable(["model", *heads], rows, caption=caption)


def _source_head(source: ScoreSource) -> str:
    arrow = "" if source.higher_is_better else " ↓"
    return source.name + arrow if source.column in source.name else f"{source.name}\n{source.column}{arrow}"


def _score_cell(source: ScoreSource, model: str, ranked: Sequence[str]) -> TableCell:
    if model not in ranked:
        return TableCell("–")
    cell = source.score(model)
    shown = estimate_cell(cell, source.digits)
    coverage = "" if cell.scored == cell.total else f"{format_coverage(cell)}  "
    places = format_places(*source.card.rank_ranges[model])
    mark = _MARKS.get(ranked.index(model) + 1, "") if len(ranked) > 1 else ""
    return shown._replace(below=f"{coverage}{shown.below}", beside=f"  {places:>6}", mark=mark)


def agreement_table(comparison: SourceComparison) -> OutputTable:
    """Return a row for each two runs or score files.

    It has their rank correlations, and the number of pairs of models that they put in opposite order.
    """
    rows: list[Row] = []
    for pair in comparison.pairs:
        both = sum(all(flipped.decided) for flipped in pair.reversed_pairs)
        rows.append(
            [
                f"{pair.first} and {pair.second}",
                f"{len(pair.models)}",
                *(estimate_cell(pair.over_models[kind], _CORRELATION) for kind in ("spearman", "kendall")),
                estimate_cell(pair.over_samples.mean["spearman"], _CORRELATION),
                f"{len(pair.reversed_pairs)} of {pair.pair_count}",
                f"{both}",
            ]
        )
    heads = [
        "sources",
        "models",
        "over models\nSpearman",
        "over models\nKendall",
        "over samples\nSpearman",
        "pairs\nreversed",
        "decided\nby both",
    ]
    return OutputTable(heads, rows, "agreement of sources")


def _reversed_table(comparison: SourceComparison, reversals: Sequence[tuple[SourcePair, ReversedPair]]) -> OutputTable:
    digits = {source.name: source.digits for source in comparison.sources}
    rows: list[Row] = []
    for pair, flipped in reversals[:_MAX_PAIRS]:
        names = (pair.first, pair.second)
        cells = [
            estimate_cell(apart, digits[name], "+", STRONG if apart.is_decided else FAINT)
            for name, apart in zip(names, flipped.differences, strict=True)
        ]
        decides = [name for name, is_decided in zip(names, flipped.decided, strict=True) if is_decided]
        rows.append([f"{flipped.better} over {flipped.worse}", *names, *cells, " and ".join(decides) or "neither"])
    more = len(reversals) - len(rows)
    caption = "Bold: decided. Positive: the model named first is better."
    return OutputTable(
        ["models", "by", "but not by", "by the first", "by the second", "decided by"],
        rows,
        "pairs of models in opposite order",
        f"{caption} And {pluralise(more, 'more pair')} (`json` has all)." if more else caption,
        text_columns=3,
    )


def _agreement_sentence(pair: SourcePair) -> str:
    names = f"{escape_control(pair.first)} and {escape_control(pair.second)}"
    if len(pair.models) < 2:
        return f"{names} score {pluralise(len(pair.models), 'common model')}: too few to compare orders."
    tau = pair.over_models["kendall"]
    text = f"{names} order {len(pair.models)} models"
    text += f" with Kendall's tau {format_estimate(tau, _CORRELATION)}" if tau.value is not None else ""
    if not pair.reversed_pairs:
        return f"{text}; no pair of models changes places."
    both = [flipped for flipped in pair.reversed_pairs if all(flipped.decided)]
    count = len(pair.reversed_pairs)
    change = f"{count} of {pluralise(pair.pair_count, 'pair')} change{'s' if count == 1 else ''} places"
    if not both:
        return f"{text}; {change}, none of them decided by both."
    shown = ", ".join(f"{escape_control(of.better)} against {escape_control(of.worse)}" for of in both[:3])
    more = f", and {len(both) - 3} more" if len(both) > 3 else ""
    return f"{text}; {change}. Both decide, and contradict each other, on {shown}{more}."


def _notes(comparison: SourceComparison) -> Iterator[str]:
    yield (
        "Over models: correlation of the models' scores, with the interval over models like them (from four models). "
        "Over samples: correlation of samples' scores within each model, averaged, with the interval over samples. "
        "Intervals are 95 %."
    )
    sizes = {source.name: len(source.card.table.samples) for source in comparison.sources}
    sampled = {name: size for name, size in sizes.items() if size > 1}
    if len(set(sampled.values())) > 1 or any(
        pair.sample_count < min(sizes[pair.first], sizes[pair.second])
        for pair in comparison.pairs
        if pair.first in sampled and pair.second in sampled
    ):
        shown = ", ".join(f"{escape_control(name)} {pluralise(size, 'sample')}" for name, size in sampled.items())
        yield f"The sources score different samples: {shown}. Scores are over each source's own samples."
    whole = [escape_control(name) for name, size in sizes.items() if size == 1]
    if whole:
        yield f"{join_names(whole)}: scores of whole models, without samples, so without intervals."
    if len({source.card.table.missing for source in comparison.sources}) == 1 and any(
        source.card.table.missing == "zero" for source in comparison.sources
    ):
        yield "Samples without an edit count as failed."
    yield from skipped_row_sentences({source.path: source.skipped_rows for source in comparison.sources})


def _comparison_json(comparison: SourceComparison) -> dict[str, Any]:
    return {
        "models": list(comparison.models),
        "sources": [_source_json(source) for source in comparison.sources],
        "pairs": [_pair_json(pair) for pair in comparison.pairs],
    }


def _source_json(source: ScoreSource) -> dict[str, Any]:
    ranked = source.ranked_models
    return {
        "source": source.name,
        "path": source.path,
        "metric": source.column,
        "higher_is_better": source.higher_is_better,
        "samples": len(source.card.table.samples),
        "models": {
            name: {**source.score(name).to_dict(), "rank": at, "places": list(source.card.rank_ranges[name])}
            for at, name in enumerate(ranked, 1)
        },
    }


def _pair_json(pair: SourcePair) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "models": list(pair.models),
        "samples": pair.sample_count,
        "over_models": _estimates_json(pair.over_models),
        "over_samples": _estimates_json(pair.over_samples.mean),
        "pairs": pair.pair_count,
        "reversed": [
            {
                "better": flipped.better,
                "worse": flipped.worse,
                "differences": [_difference_json(apart) for apart in flipped.differences],
            }
            for flipped in pair.reversed_pairs
        ],
    }


def _difference_json(apart: Difference | None) -> dict[str, Any]:
    if apart is None:
        return {"value": None, "low": None, "high": None, "samples": 0, "p": None, "decided": False}
    ends = {name: getattr(apart, name) for name in ("value", "low", "high", "samples", "p")}
    return {**ends, "decided": apart.is_decided}


def _estimates_json(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: estimate.to_dict() for name, estimate in found.items()}


def source_records(comparison: SourceComparison) -> list[dict[str, Any]]:
    """Return a record for each run or score file and each model."""
    return [
        {"source": source["source"], "metric": source["metric"], "model": model, **cell}
        for source in map(_source_json, comparison.sources)
        for model, cell in source["models"].items()
    ]
