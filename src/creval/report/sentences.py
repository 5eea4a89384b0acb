"""What the numbers say, in sentences that can be quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from creval.core.card import Digits
from creval.report.text import difference, visible
from creval.stats.scorecard import Difference, Scorecard

if TYPE_CHECKING:
    from creval.engine.calibrate import Heard
    from creval.stats.agreement import Agreement
    from creval.stats.calibration import Rates
    from creval.stats.compare import Comparison
    from creval.stats.items import ItemStatistics
    from creval.stats.repeats import Repeats
    from creval.stats.sensitivity import Sensitivity
    from creval.stats.unchanged import Unchanged
    from creval.store.run import Run


def decided(card: Scorecard) -> str:
    """Which models differ in the column that ranks, and which cannot be told apart."""
    name = card.table.card.ranking
    if not card.differences:
        return "There is only one model, so nothing to compare."
    settled = [found for found in card.differences if found.decided]
    open_ = [found for found in card.differences if not found.decided]
    count = len(card.differences)
    pairs = "pair" if count == 1 else "pairs"
    corrected = "" if count == 1 else f", corrected for {count} pairs after Holm"
    sentence = (
        f"On {name}, {len(settled)} of {count} {pairs} of models differ "
        f"(paired sign-flip test at 5 %{corrected})."
    )
    if open_:
        shown = "; ".join(_pair(card, found) for found in open_[:10])
        more = f"; and {len(open_) - 10} more" if len(open_) > 10 else ""
        sentence += f" Not decided: {shown}{more}."
    if open_ and len(card.systems) > 2:
        places = (f"{visible(name)} {_range(*card.places[name])}" for name in card.systems[:12])
        sentence += f" Places that they can hold: {', '.join(places)}."
    return sentence


def _range(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first} to {last}"


def _pair(card: Scorecard, found: Difference) -> str:
    if found.value is None:
        return f"{visible(found.first)} and {visible(found.second)} (no {card.table.card.ranking})"
    if (found.value < 0) == card.table.card.higher_is_better(card.table.card.ranking):
        ends = [None if end is None else -end for end in (found.high, found.low)]
        found = Difference(found.second, found.first, -found.value, ends[0], ends[1], found.samples)
    return (
        f"{visible(found.first)} over {visible(found.second)} ({difference(found, _digits(card))})"
    )


def _digits(card: Scorecard) -> Digits:
    return card.table.card.metric(card.table.card.ranking).digits


def basis(
    card: Scorecard,
    manifest: Mapping[str, Any],
    resamples: int,
    marks: str = "¹ best, ² second",
) -> str:
    """What the table rests on: judge, samples, weights, intervals, and how places are marked."""
    table = card.table
    made = table.card.composite
    formula = ""
    if made is not None:
        weights = " + ".join(f"{weight:.3g} {name}" for name, weight in made.weights.items())
        formula = f"; {made.name} = {weights}"
    subset = f" (subset {table.subset})" if table.subset else ""
    judge = f"judge {visible(manifest['judge'])}" if manifest["judge"] else "measured"
    asked = manifest.get("protocol", manifest["benchmark"])
    protocol = f", asked as {visible(asked)}" if asked != manifest["benchmark"] else ""
    return (
        f"{manifest['benchmark']}{protocol}, {judge}, {len(table.samples)} "
        f"samples{subset}{formula}; beside a value the share of "
        "its questions that were scored, in brackets its 95 % interval over samples "
        f"({resamples} resamples); {marks}."
    )


def strictness(card: Scorecard, problems: int = 0) -> str:
    """How unanswered questions and faulty references were taken."""
    unanswered = sum(card.table.unanswered.values())
    unasked = sum(card.table.unasked.values())
    never = f" {unasked} were never asked." if unasked else ""
    if problems:
        never += f" The benchmark's files had {problems} problems (`creval bench` lists them)."
    if not any(card.table.scored.flat) and not unanswered:
        return f"Nothing was asked yet.{never}"
    if card.table.strict:
        return (
            f"Strict, as the authors' scripts score: {unanswered} unanswered questions count as "
            f"wrong, and references are taken as released.{never}"
        )
    if unanswered:
        return f"{unanswered} questions without an answer are left out of the scores.{never}"
    return f"Every question that was asked was answered.{never}"


def listed(reasons: Sequence[tuple[str, int]], most: int = 4) -> str:
    """Reasons with how many there are of each, the most frequent first."""
    words = "; ".join(f"{visible(reason)} ({count:,})" for reason, count in reasons[:most])
    return f"{words}; and others" if len(reasons) > most else words


def voices(run: Run, card: Scorecard) -> list[str]:
    """What several judges or repeats did not do alike, and pictures that nobody could judge."""
    notes = []
    answered = run.voices()
    wanted = len(run.manifest.get("judges", (1,))) * int(run.manifest.get("repeat", 1))
    if wanted > 1 and (len(answered) < wanted or len(set(answered.values())) > 1):
        shown = "; ".join(
            f"{visible(judge)}, repeat {repeat + 1}: {count:,}"
            for (judge, repeat), count in answered.items()
        )
        notes.append(
            f"Of {wanted} answers to each question not all are there. Answered by {shown}."
        )
    if len(answered) > 1:
        ties = run.tied(card.table.systems, card.table.samples)
        if ties:
            notes.append(f"{ties:,} of the questions without an answer were tied between voices.")
    unmeasured = run.measured()[2]
    if unmeasured:
        notes.append(
            f"{sum(n for _, n in unmeasured):,} edits could not be measured: {listed(unmeasured)}."
        )
    if run.manifest.get("stopping"):
        notes.append(
            "This run stopped when it was settled (docs/stopping.md); intervals here are those of "
            "a run whose size was fixed before."
        )
    unopened = run.unopened()
    if unopened:
        notes.append(
            f"{unopened:,} edits were not judged, because a picture cannot be opened: they lower "
            "the coverage."
        )
    return notes


def agreed(voices: Sequence[str], found: Agreement) -> str:
    """How far voices agree, in a sentence."""
    names = ", ".join(visible(name) for name in voices[:-1]) + f" and {visible(voices[-1])}"
    if len(voices) > 4:
        names = f"{len(voices)} voices"
    if found.percent is None:
        return f"{names} answered no question together."
    ends = found.alpha_ends
    range_ = "" if None in ends else f", 95 % interval {ends[0]:.3f} to {ends[1]:.3f}"
    alpha = "" if found.alpha is None else f" (Krippendorff's alpha {found.alpha:.3f}{range_})"
    return f"{names} agree in {found.percent:.1f} % of {found.items:,} questions{alpha}."


def questioned(found: Sequence[ItemStatistics]) -> str:
    """What a run's questions are like, in a sentence."""
    asked = [item for item in found if item.credit is not None]
    if not asked:
        return "No question has an answer that can be scored."
    passed = sum(item.credit == 1 for item in asked)
    failed = sum(item.credit == 0 for item in asked)
    faulty = sum(bool(item.faults) for item in found)
    alike = 100 * (passed + failed) / len(asked)
    return (
        f"Of {len(asked):,} questions {passed:,} are passed and {failed:,} failed by every model: "
        f"{alike:.0f} % tell no two of them apart. {faulty:,} are worth a look."
    )


def weighed(found: Sensitivity) -> str:
    """How far the best system depends on the weights, in a sentence."""
    share = 100 * found.wins[found.best]
    words = " : ".join(f"{10 * weight:.3g}" for weight in found.own)
    sentence = (
        f"{visible(found.best)} is best at {words} ({', '.join(found.metrics)}), and under "
        f"{share:.0f} % of all weights."
    )
    near = min(
        ((change, name) for name, change in found.changes.items() if change is not None),
        default=None,
    )
    if near is not None:
        sentence += (
            f" {visible(near[1])} passes it once weights move by {near[0]:.2f}: that is the "
            "nearest."
        )
    return sentence


def repeated(found: Repeats, error: float | None) -> str:
    """How much single measurements scatter, and how many a wanted error needs."""
    parts = [f"{visible(metric)} by {value:.2f}" for metric, value in found.deviation.items()]
    sentence = (
        f"Measured again, a sample's scores scatter: {', '.join(parts)} (standard deviation)."
    )
    if error is None:
        return sentence
    needed = {metric: found.needed(metric, error) for metric in found.values}
    words = [f"{visible(m)} {'too many' if n is None else n}" for m, n in needed.items()]
    return f"{sentence} A variation of {error:g} takes, in measurements: {', '.join(words)}."


def idle(found: Sequence[Unchanged]) -> str:
    """Who left sources as they were, in a sentence."""
    lazy = [one for one in found if one.unchanged.found]
    if not any(one.unchanged.total for one in found):
        return "No edit could be looked at."
    if not lazy:
        return "No model left a source as it was."
    most = max(lazy, key=lambda one: one.unchanged.value or 0.0)
    share = 100 * (most.unchanged.value or 0.0)
    many = "One model" if len(lazy) == 1 else f"{len(lazy)} models"
    return (
        f"{many} left some sources as they were, {visible(most.system)} most often: {share:.1f} % "
        f"of its {most.unchanged.total:,} edits changed no more than storing a picture again does."
    )


def trusted(judge: str, plain: Heard, variants: Mapping[str, Heard]) -> list[str]:
    """What a judge can be trusted for, in sentences."""
    from creval.stats.calibration import by, rates, turned

    told = list(plain.told.values())
    whole = rates(told)
    if whole.accuracy is None:
        return [f"{judge} answered too little to say anything about it."]
    found = [
        f"{judge} is right in {100 * whole.accuracy:.1f} % of {len(told):,} questions whose answer "
        "is known, half of them yes."
    ]
    bias = 100 * (whole.yes_bias or 0.0)
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
    ordered = variants.get("ordered")
    if ordered is not None:
        change = turned(plain.told, ordered.told)
        if change.decided and change.more > 0:
            found.append(
                "It obeys what is written in a picture: an order to say yes brought "
                f"{100 * change.more:.1f} % more of it."
            )
    return found


def _least(found: Rates) -> float:
    """The lower end of what it is right in."""
    ends = [rate.ends[0] for rate in (found.sensitivity, found.specificity)]
    return min(0.0 if end is None else end for end in ends)


def _most(found: Rates) -> float:
    """The lesser of the two rates, as far as it can be."""
    ends = [rate.ends[1] for rate in (found.sensitivity, found.specificity)]
    return min(1.0 if end is None else end for end in ends)


def _tested(found: Difference) -> str:
    if found.p is None:
        return ""
    return f", p = {found.p:.2g}" if found.p >= 0.001 else ", p < 0.001"


def compared(found: Comparison) -> str:
    """Which of two models is ahead in the column that ranks, and whether that is decided."""
    name = found.table.card.ranking
    digits = found.table.card.metric(name).digits.value
    overall = found.differences["overall", "overall", name]
    first, second = visible(overall.first), visible(overall.second)
    if overall.value is None:
        return f"{first} and {second} have no {name} on the same samples."
    where = f"on the {overall.samples} samples that both have"
    if overall.low is None or overall.high is None:
        return (
            f"{first} and {second} differ by {overall.value:+.{digits}f} {name} {where}: too few."
        )
    more = "more" if overall.value >= 0 else "less"
    ends = f"{overall.low:+.{digits}f} to {overall.high:+.{digits}f}"
    verdict = "decided" if overall.decided else "not decided"
    return (
        f"{first} has {abs(overall.value):.{digits}f} points {more} {name} than {second} {where} "
        f"(95 % interval {ends}{_tested(overall)}): {verdict}."
    )
