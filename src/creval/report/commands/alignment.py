"""Scores held against people: sentences to quote, tables, and all of it for another program."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from creval.core.formatting import interval, many, value, visible
from creval.core.human_ratings import LeftOut
from creval.core.schema import Digits
from creval.report.output import ASIDE, Findings, Grid, Row, Spot
from creval.report.sentences import joined
from creval.stats.human.alignment import Aligned, Alignment, Said, Won
from creval.stats.human.paired_series import Correlated, Estimates
from creval.stats.human.ratings import Unmatched
from creval.stats.intervals import NOTHING, Estimate

_KINDS = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
_CORRELATION = Digits(3, 2)
_PERCENT = Digits(1, 1)
_CEILING = "one person against the others"
_MOST = 5


def people(found: Alignment, left_out: Mapping[str, tuple[LeftOut, ...]]) -> Findings:
    """How automatic scores go with what people said; rows of files were `left_out`."""
    return Findings(
        list(_sentences(found)),
        list(_grids(found)),
        _data(found, left_out),
        list(_notes(found, left_out)),
    )


def _sentences(found: Alignment) -> Iterator[str]:
    """What was found, for each thing that people said."""
    for said in found.said:
        yield _agreement(said)
        yield from _choosing(said)
        yield from _predicting(said)
        yield from _weighing(said)


def _agreement(said: Said) -> str:
    """Which metric goes best with people, over samples or, where there are none, over models."""
    over = "samples" if any(_of(held).value is not None for held in said.aligned) else "models"
    there = [held for held in said.aligned if _of(held, over).value is not None]
    if over == "samples" and not _common(there):
        # Nothing is best where no two are of the same models.
        there = [held for held in there if held.scores == said.main] or there[:1]
    thing = f"people's {visible(said.metric)}"
    if not there:
        return f"Nothing goes with {thing} or against it: there is too little of it, or no scatter."
    levels = [_of(held, over).value or 0.0 for held in there]
    if over == "samples":
        levels = _on_the_same(there)
    highest = max(levels)
    best = there[levels.index(highest)]
    equal = [
        visible(held.scores)
        for held, level in zip(there, levels, strict=True)
        if highest - level < 1e-9
    ]
    where = f"over {many(best.models, 'model')}"
    if over == "samples":
        within = "pairs of models" if said.chosen else "models"
        strands = len(best.sample.strands)
        where = f"over samples, within each of {strands} {within}"
        if strands == 1:
            where = f"over samples, within {within.replace('models', 'one model')}"
    sentence = (
        f"{_going(equal, len(there), _of(best, over).value or 0.0)} {thing} {where}: Spearman "
        f"{_with_ends(_of(best, over), _CORRELATION)}."
    )
    ceiling = said.ceiling and said.ceiling.sample.mean["spearman"]
    if over == "samples" and ceiling and ceiling.value is not None:
        reached = _with_ends(ceiling, _CORRELATION)
        sentence += f" One person goes with the others at {reached}."
    return sentence


def _on_the_same(held: Sequence[Aligned]) -> list[float]:
    """Each metric's mean correlation over the models, or pairs, in which all of them have one."""
    common = _common(held)
    return [
        math.tanh(
            sum(_fisher(one.sample.strands[name]["spearman"].value or 0.0) for name in common)
            / len(common)
        )
        for one in held
    ]


def _common(held: Sequence[Aligned]) -> set[str]:
    """The models, or pairs of them, in which all metrics have a correlation over samples."""
    return set.intersection(*(set(one.sample.strands) for one in held)) if held else set()


def _fisher(value: float) -> float:
    return math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))


def _going(names: Sequence[str], of: int, value: float) -> str:
    """Who goes with people: `Of 5 metrics, S goes best with`."""
    several = len(names) > 1
    verb = "go" if several else "goes"
    if value < 0:
        least = " least" if of > 1 else ""
        words = f"{joined(names)} {verb} against{least}" if least else f"{names[0]} goes against"
    else:
        words = f"{joined(names)} {verb}{' best' if of > 1 else ''} with"
    return f"Of {of} metrics, {words}" if of > 1 else words


def _choosing(said: Said) -> Iterator[str]:
    if not said.chosen:
        return
    main = next(held for held in said.aligned if held.scores == said.main)
    if main.accuracy.value is None:
        return
    sentence = (
        f"{visible(said.main)} prefers the edit that people prefer in "
        f"{_with_ends(main.accuracy, _PERCENT, 100)} % of the comparisons that people decide"
    )
    if said.ceiling is not None and said.ceiling.accuracy.value is not None:
        sentence += f", one person in {_with_ends(said.ceiling.accuracy, _PERCENT, 100)} %"
    yield f"{sentence}."


def _predicting(said: Said) -> Iterator[str]:
    helped = [found for found in said.predicted if found.rated < found.scored]
    trusted = [found for found in helped if found.narrower is not None]
    if trusted:
        gain = 100 * (1 - _width(trusted, "predicted") / _width(trusted, "classical"))
        rated, scored = (sum(getattr(f, of) for f in trusted) for of in ("rated", "scored"))
        change = f"{gain:.0f} % narrower" if gain >= 0 else f"{-gain:.0f} % wider"
        yield (
            f"With {visible(said.main)} of {scored:,} edits beside people's "
            f"{visible(said.metric)} of {rated:,}, the interval of a model's mean is {change}."
        )
    doubtful: dict[str, list[str]] = {}
    for found in said.predicted:
        if found.doubt:
            doubtful.setdefault(found.doubt, []).append(visible(found.model))
    if doubtful:
        shown = "; ".join(f"{_some(models)} ({why})" for why, models in doubtful.items())
        yield f"No interval of people's mean can be trusted for {shown}."


def _some(names: Sequence[str]) -> str:
    """Names, the first few of many."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _width(found: list[Any], of: str) -> float:
    return float(sum(getattr(one, of).width for one in found))


def _weighing(said: Said) -> Iterator[str]:
    if said.weights is None:
        return
    best, apart = said.weights.best, said.weights.difference
    shown = ", ".join(f"{visible(n)} {_with_ends(w, Digits(2, 2))}" for n, w in best.items())
    decided = "not decided"
    if apart.low is not None and apart.high is not None:
        decided = "better" if apart.low > 0 else "worse" if apart.high < 0 else "not decided"
    new, old = (value(of.value, _CORRELATION) for of in (said.weights.held_out, said.weights.given))
    ends = interval(apart.low, apart.high, _CORRELATION, "+")
    yield (
        f"The weights that go best with people's {visible(said.metric)} are {shown}. On samples "
        f"that they were not found on they reach Pearson {new}, {visible(said.main)} {old} "
        f"(difference {value(apart.value, _CORRELATION, '+')} {ends}: {decided})."
    )


def _notes(found: Alignment, left_out: Mapping[str, tuple[LeftOut, ...]]) -> Iterator[str]:
    """What the numbers rest on, and what could not be used."""
    yield (
        "Over models: of their means, with the interval over models like them. Over samples: "
        "within each model (for choices, within each two), averaged through Fisher's z, with the "
        "interval over samples. All intervals are of 95 %."
    )
    yield from lost(left_out, found.unmatched)
    for said in found.said:
        flat = sorted({name for held in said.aligned for name in held.sample.flat})
        if flat and any(held.sample.strands for held in said.aligned):
            yield (
                f"{visible(said.metric)}: too few values, or nearly all the same, for a "
                f"correlation over samples: {_some([visible(name) for name in flat])}."
            )


def lost(left_out: Mapping[str, tuple[LeftOut, ...]], unmatched: Unmatched) -> Iterator[str]:
    """What of files could not be used."""
    for path, reasons in left_out.items():
        if reasons:
            shown = "; ".join(f"{why} ({n:,}, first in line {line})" for why, n, line in reasons)
            yield f"{path}: {many(sum(n for _, n, _ in reasons), 'row')} left out: {shown}."
    if unmatched.ratings:
        both = (("models", unmatched.models), ("samples", unmatched.samples))
        what = [f"{name} {_some([repr(one) for one in of])}" for name, of in both if of]
        words = "; ".join(what)
        yield f"{unmatched.ratings:,} of people's words are about what has no score: {words}."


def _grids(found: Alignment) -> Iterator[Grid]:
    for said in found.said:
        yield _agreement_grid(said)
        if any(row.rated < row.scored or row.doubt for row in said.predicted):
            yield _predicted_grid(said)
        if said.wins:
            yield _wins_grid(said, said.wins, "model")
        if len(said.over) > 1:
            yield _wins_grid(said, said.over, "first over second")


def _agreement_grid(said: Said) -> Grid:
    words = "choices" if said.chosen else "ratings"
    several = f", {said.raters} people" if said.raters > 1 else ""
    over = ("over models", "over samples")
    heads = [f"{where}\n{kind}" for where in over for kind in _KINDS.values()]
    rows: list[Row] = [
        [held.scores, *_cells(held.system, held.sample, held.accuracy)] for held in said.aligned
    ]
    caption = ""
    if said.ceiling is not None:
        nothing = dict.fromkeys(_KINDS, NOTHING)
        cells = _cells(nothing, said.ceiling.sample, said.ceiling.accuracy)
        rows.append([Spot(_CEILING, mark=ASIDE), *cells])
        if said.ceiling.alpha.value is not None:
            shown = _with_ends(said.ceiling.alpha, _CORRELATION)
            caption = f"Krippendorff's alpha between people: {shown}"
    return Grid(
        ["metric", *heads, "right of\ntwo, %"],
        rows,
        f"people's {said.metric}: {said.values:,} {words}{several}",
        caption,
        breaks=frozenset({len(said.aligned)}),
    )


def _cells(system: Estimates, sample: Correlated, accuracy: Estimate) -> Row:
    over = [_cell(of[kind], _CORRELATION) for of in (system, sample.mean) for kind in _KINDS]
    return [*over, _cell(accuracy, _PERCENT, 100)]


def _predicted_grid(said: Said) -> Grid:
    rows: list[Row] = []
    for found in said.predicted:
        gain = "" if found.narrower is None else f"{100 * found.narrower:.0f} %"
        rows.append(
            [
                found.model,
                f"{found.rated:,}",
                f"{found.scored:,}",
                _cell(found.classical, _PERCENT),
                _cell(found.predicted, _PERCENT),
                "not to be trusted" if found.doubt else gain,
            ]
        )
    heads = ["model", "rated", "scored", "ratings alone", f"with {said.main}", "narrower"]
    return Grid(heads, rows, f"people's mean {said.metric} of all edits, in percent")


def _wins_grid(said: Said, won: Mapping[str, Won], first: str) -> Grid:
    rows: list[Row] = [
        [name, *(_cell(of, _PERCENT, 100) for of in won[name])]
        for name in sorted(won, key=lambda name: -(won[name].people.value or 0.0))
    ]
    heads = [first, "for people", f"for {said.main}"]
    return Grid(heads, rows, f"comparisons won by people's {said.metric}, in percent")


def _of(held: Aligned, over: str = "samples") -> Estimate:
    return held.sample.mean["spearman"] if over == "samples" else held.system["spearman"]


def _scaled(found: Estimate, times: float) -> Estimate:
    return Estimate(*(None if number is None else times * number for number in found))


def _cell(found: Estimate, digits: Digits, times: float = 1) -> Spot:
    found = _scaled(found, times)
    return Spot(value(found.value, digits), interval(found.low, found.high, digits))


def _with_ends(found: Estimate, digits: Digits, times: float = 1) -> str:
    found = _scaled(found, times)
    ends = interval(found.low, found.high, digits)
    return f"{value(found.value, digits)} {ends}".rstrip()


def _data(found: Alignment, left_out: Mapping[str, tuple[LeftOut, ...]]) -> dict[str, Any]:
    """Everything, unrounded: `people`, then what they said, then the metric."""
    scores = found.scores
    return {
        "metrics": list(scores.metrics),
        "models": list(scores.models),
        "samples": len(scores.samples),
        "left_out": {path: [row._asdict() for row in rows] for path, rows in left_out.items()},
        "unmatched": {
            "ratings": found.unmatched.ratings,
            "models": list(found.unmatched.models),
            "samples": list(found.unmatched.samples),
        },
        "people": {said.metric: _said_json(said) for said in found.said},
    }


def _said_json(said: Said) -> dict[str, Any]:
    ceiling, weights = said.ceiling, said.weights
    return {
        "kind": "choices" if said.chosen else "ratings",
        "main": said.main,
        "raters": said.raters,
        "values": said.values,
        "metrics": {
            held.scores: {
                "system": _estimates_json(held.system),
                "sample": _correlated_json(held.sample),
                "accuracy": held.accuracy._asdict(),
                "models": held.models,
                "values": held.values,
            }
            for held in said.aligned
        },
        "ceiling": ceiling
        and {
            "sample": _correlated_json(ceiling.sample),
            "accuracy": ceiling.accuracy._asdict(),
            "alpha": ceiling.alpha._asdict(),
        },
        "predicted": {
            found.model: {
                "predicted": found.predicted._asdict(),
                "classical": found.classical._asdict(),
                "rated": found.rated,
                "scored": found.scored,
                "weight": found.weight,
                "narrower": found.narrower,
                "doubt": found.doubt,
            }
            for found in said.predicted
        },
        "wins": _wins_json(said.wins),
        "over": _wins_json(said.over),
        "weights": weights
        and {
            "best": _estimates_json(weights.best),
            "held_out": weights.held_out._asdict(),
            "given": weights.given._asdict(),
            "difference": weights.difference._asdict(),
        },
    }


def _wins_json(won: Mapping[str, Won]) -> dict[str, Any]:
    return {
        name: {"people": of.people._asdict(), "scores": of.scores._asdict()}
        for name, of in won.items()
    }


def _estimates_json(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: estimate._asdict() for name, estimate in found.items()}


def _correlated_json(found: Correlated) -> dict[str, Any]:
    strands = {name: _estimates_json(of) for name, of in found.strands.items()}
    return {**_estimates_json(found.mean), "strands": strands, "flat": list(found.flat)}
