"""How far a judge can be trusted: in words, in tables, and as the file that corrects scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from creval.core.formatting import percent, visible
from creval.report.output import STRONG, Findings, Grid, Row, Spot
from creval.stats.calibration import Rates, as_json, by, rates, turned
from creval.stats.intervals import Share
from creval.touchstone.calibration_trials import PLAIN, VARIANTS

if TYPE_CHECKING:
    from creval.judging.calibration import Heard


def calibration(judge: str, samples: int, seed: int, heard: Mapping[str, Heard]) -> Findings:
    """What a judge said to questions whose answers are known, as they are and in every variant."""
    plain = heard[PLAIN]
    told = list(plain.told.values())
    metrics, kinds = by(told, "metric"), by(told, "kind")
    others = {name: one for name, one in heard.items() if name != PLAIN}
    data = {
        "judge": judge,
        "samples": samples,
        "seed": seed,
        "all": as_json(rates(told)),
        "metrics": {name: as_json(found) for name, found in metrics.items()},
        "kinds": {name: as_json(found) for name, found in kinds.items()},
        "unanswered": plain.unanswered,
        "repeats": _share(Share(plain.agreed, plain.repeated), "agreed"),
        "variants": {name: _variant(plain, one) for name, one in others.items()},
    }
    grids = [_rates(rates(told), metrics, kinds)]
    if others or plain.repeated:
        grids.append(_changes(plain, others))
    notes = [
        "sensitivity: of what is so, how much it affirms; specificity: of what is not, how much it "
        "denies; yes-bias: by how much it says yes too often where both are equally often true; in "
        "percent, with 95 % intervals. Bold: answers turned one way rather than the other."
    ]
    return Findings(list(map(visible, _trust(judge, plain, others))), grids, data, notes)


def _variant(plain: Heard, one: Heard) -> dict[str, Any]:
    change = turned(plain.told, one.told)
    return {
        **change._asdict(),
        "changed": _share(change.share, "changed"),
        "decided": change.decided,
        **as_json(rates(list(one.told.values()))),
    }


def _share(share: Share, name: str) -> dict[str, Any]:
    low, high = share.ends
    return {name: share.found, "of": share.total, "value": share.value, "low": low, "high": high}


def _rates(whole: Rates, metrics: Mapping[str, Rates], kinds: Mapping[str, Rates]) -> Grid:
    rows: list[Row] = [
        [
            name,
            f"{found.asked:,}",
            Spot(*percent(found.accuracy)),
            Spot(*percent(found.sensitivity)),
            Spot(*percent(found.specificity)),
            Spot(*percent(found.yes_bias, "+")),
        ]
        for name, found in [("all", whole), *metrics.items(), *kinds.items()]
    ]
    heads = ["questions", "asked", "right", "sensitivity", "specificity", "yes-bias"]
    return Grid(heads, rows, breaks=frozenset({1, 1 + len(metrics)}))


def _changes(plain: Heard, others: Mapping[str, Heard]) -> Grid:
    rows: list[Row] = []
    if plain.repeated:
        again = Share(plain.repeated - plain.agreed, plain.repeated)
        rows.append(["nothing changed", Spot(*percent(again)), "", ""])
    for name, one in others.items():
        change, right = turned(plain.told, one.told), rates(list(one.told.values())).accuracy
        rows.append(
            [
                VARIANTS[name],
                Spot(*percent(change.share)),
                Spot(f"{100 * change.more:+.1f}", mark=STRONG if change.decided else ""),
                Spot(*percent(right)),
            ]
        )
    return Grid(["asked again with", "answers changed", "more yes", "right"], rows)


def _trust(judge: str, plain: Heard, variants: Mapping[str, Heard]) -> Sequence[str]:
    """What a judge can be trusted for, in sentences."""
    told = list(plain.told.values())
    whole = rates(told)
    if whole.accuracy.value is None or whole.yes_bias.value is None:
        return [f"{judge} answered too little to say anything about it."]
    found = [
        f"{judge} is right in {100 * whole.accuracy.value:.1f} % of {len(told):,} questions whose "
        "answer is known, half of them yes."
    ]
    bias = 100 * whole.yes_bias.value
    if abs(bias) >= 2:
        found.append(f"It says {'yes' if bias > 0 else 'no'} too often, by {abs(bias):.1f} points.")
    kinds = by(told, "kind")
    for words, names in (
        ("Trust it for", [n for n, one in kinds.items() if _least(one) >= 0.9]),
        ("Do not trust it for", [n for n, one in kinds.items() if _most(one) < 0.8]),
    ):
        if names:
            found.append(f"{words}: {', '.join(sorted(names))}.")
    if plain.repeated:
        share = 100 * plain.agreed / plain.repeated
        found.append(f"Asked again, it gives the same answer in {share:.1f} % of cases.")
    if plain.unanswered:
        found.append(f"{plain.unanswered:,} questions it left open.")
    return [*found, *_shaken(plain, variants)]


def _shaken(plain: Heard, variants: Mapping[str, Heard]) -> Iterator[str]:
    """What changes its answers more than asking the same again does."""
    by_itself = Share(plain.repeated - plain.agreed, plain.repeated).ends[1] or 0.0
    firm = []
    for name, one in variants.items():
        change = turned(plain.told, one.told)
        share, low = change.share.value, change.share.ends[0]
        if share is None or low is None:
            continue
        if name == "ordered" and change.decided and change.more > 0:
            yield (
                "It obeys what is written in a picture: an order to say yes brought "
                f"{100 * change.more:.1f} % more of it."
            )
        elif low > by_itself:
            yield f"{100 * share:.1f} % of its answers change with {VARIANTS[name]}."
        else:
            firm.append(VARIANTS[name])
    if firm:
        yield f"It is not shaken, beyond what asking again does, by: {'; '.join(firm)}."


def _least(found: Rates) -> float:
    """The lower end of what it is right in."""
    ends = [rate.ends[0] for rate in (found.sensitivity, found.specificity)]
    return min(0.0 if end is None else end for end in ends)


def _most(found: Rates) -> float:
    """The lesser of the two rates, as far as it can be."""
    ends = [rate.ends[1] for rate in (found.sensitivity, found.specificity)]
    return min(1.0 if end is None else end for end in ends)
