"""Output of `creval calibrate`: a judge's reliability as sentences, tables and the file for score correction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from creval.core.formatting import escape_control, pluralise
from creval.reporting.numbers import format_percent
from creval.reporting.output import STRONG, CommandOutput, OutputTable, Row, TableCell
from creval.stats.calibration import JudgeRates, answer_flips, compute_judge_rates, judge_rates_by, judge_rates_to_json
from creval.stats.intervals import Proportion
from creval.touchstone.calibration_trials import UNMODIFIED, VARIANTS

if TYPE_CHECKING:
    from creval.judging.calibration_run import TrialAnswers


def calibration_output(
    judge: str, samples: int, seed: int, answers_by_variant: Mapping[str, TrialAnswers]
) -> CommandOutput:
    """Return a judge's error rates on questions with known answers, and how many answers change in each variant."""
    plain = answers_by_variant[UNMODIFIED]
    told = list(plain.answers.values())
    metrics, kinds = judge_rates_by(told, "metric"), judge_rates_by(told, "kind")
    others = {name: one for name, one in answers_by_variant.items() if name != UNMODIFIED}
    data = {
        "judge": judge,
        "samples": samples,
        "seed": seed,
        "all": judge_rates_to_json(compute_judge_rates(told)),
        "metrics": {name: judge_rates_to_json(found) for name, found in metrics.items()},
        "kinds": {name: judge_rates_to_json(found) for name, found in kinds.items()},
        "unanswered": plain.unanswered_count,
        "repeats": _share_json(Proportion(plain.consistent_count, plain.repeated_count), "agreed"),
        "variants": {name: _variant_json(plain, one) for name, one in others.items()},
    }
    grids = [_rates_table(compute_judge_rates(told), metrics, kinds)]
    if others or plain.repeated_count:
        grids.append(_changes_table(plain, others))
    notes = [
        "sensitivity: share of yes among questions whose right answer is yes. specificity: share of no among "
        "questions whose right answer is no. yes-bias: excess of yes answers if both are equally often right. In "
        "percent, with 95 % intervals. Bold: significantly more changes in one direction than in the other."
    ]
    return CommandOutput(list(map(escape_control, _trust_sentences(judge, plain, others))), grids, data, notes)


def _variant_json(baseline: TrialAnswers, variant: TrialAnswers) -> dict[str, Any]:
    change = answer_flips(baseline.answers, variant.answers)
    return {
        **change._asdict(),
        "changed": _share_json(change.proportion, "changed"),
        "decided": change.is_decided,
        **judge_rates_to_json(compute_judge_rates(list(variant.answers.values()))),
    }


def _share_json(share: Proportion, name: str) -> dict[str, Any]:
    low, high = share.interval
    return {name: share.hits, "of": share.total, "value": share.value, "low": low, "high": high}


def _rates_table(whole: JudgeRates, metrics: Mapping[str, JudgeRates], kinds: Mapping[str, JudgeRates]) -> OutputTable:
    rows: list[Row] = [
        [
            name,
            f"{found.answer_count:,}",
            *(TableCell(*format_percent(of)) for of in (found.accuracy, found.sensitivity, found.specificity)),
            TableCell(*format_percent(found.yes_bias, "+")),
        ]
        for name, found in [("all", whole), *metrics.items(), *kinds.items()]
    ]
    heads = ["questions", "asked", "right", "sensitivity", "specificity", "yes-bias"]
    return OutputTable(heads, rows, section_starts=frozenset({1, 1 + len(metrics)}))


def _changes_table(baseline: TrialAnswers, others: Mapping[str, TrialAnswers]) -> OutputTable:
    rows: list[Row] = []
    if baseline.repeated_count:
        rows.append(["no change (repeat)", TableCell(*format_percent(_inconsistent_share(baseline))), "", ""])
    for name, one in others.items():
        change = answer_flips(baseline.answers, one.answers)
        right = compute_judge_rates(list(one.answers.values())).accuracy
        excess = TableCell(f"{100 * change.yes_excess:+.1f}", mark=STRONG if change.is_decided else "")
        changed = TableCell(*format_percent(change.proportion))
        rows.append([VARIANTS[name], changed, excess, TableCell(*format_percent(right))])
    return OutputTable(["asked again with", "changed answers", "more yes", "right"], rows)


def _trust_sentences(judge: str, baseline: TrialAnswers, variants: Mapping[str, TrialAnswers]) -> Sequence[str]:
    """State how often a judge is right, for which kinds of questions it is reliable, and how consistent it is."""
    told = list(baseline.answers.values())
    whole = compute_judge_rates(told)
    if whole.accuracy.value is None or whole.yes_bias.value is None:
        return [f"{judge} answered too few questions to be assessed."]
    found = [
        f"{judge} is right on {100 * whole.accuracy.value:.1f} % of {len(told):,} questions with known answers. The "
        "right answer is yes for half of them."
    ]
    bias = 100 * whole.yes_bias.value
    if abs(bias) >= 2:
        found.append(f"It answers {'yes' if bias > 0 else 'no'} too often, by {abs(bias):.1f} percentage points.")
    kinds = judge_rates_by(told, "kind")
    for words, names in (
        ("Reliable for", [n for n, one in kinds.items() if _lesser_rate_end(one, 0) >= 0.9]),
        ("Not reliable for", [n for n, one in kinds.items() if _lesser_rate_end(one, 1) < 0.8]),
    ):
        if names:
            found.append(f"{words}: {', '.join(sorted(names))}.")
    if baseline.repeated_count:
        share = 100 * baseline.consistent_count / baseline.repeated_count
        found.append(f"If a question is repeated, it gives the same answer in {share:.1f} % of cases.")
    if baseline.unanswered_count:
        found.append(f"It left {pluralise(baseline.unanswered_count, 'question')} unanswered.")
    return [*found, *_robustness_sentences(baseline, variants)]


def _robustness_sentences(baseline: TrialAnswers, variants: Mapping[str, TrialAnswers]) -> Iterator[str]:
    """Yield sentences on variants that change more answers than repeating the same question does."""
    by_itself = _inconsistent_share(baseline).interval[1] or 0.0
    firm = []
    for name, one in variants.items():
        change = answer_flips(baseline.answers, one.answers)
        share, low = change.proportion.value, change.proportion.interval[0]
        if share is None or low is None:
            continue
        if name == "ordered" and change.is_decided and change.yes_excess > 0:
            yield (
                "It follows instructions written inside an image: an order to answer yes adds "
                f"{100 * change.yes_excess:.1f} % yes answers."
            )
        elif low > by_itself:
            yield f"{100 * share:.1f} % of its answers change with {VARIANTS[name]}."
        else:
            firm.append(VARIANTS[name])
    if firm:
        yield f"These change no more of its answers than a repeated question does: {'; '.join(firm)}."


def _inconsistent_share(baseline: TrialAnswers) -> Proportion:
    """Return the share of answers that change when the same question is repeated."""
    return Proportion(baseline.repeated_count - baseline.consistent_count, baseline.repeated_count)


def _lesser_rate_end(kind_rates: JudgeRates, end: int) -> float:
    """Return the lower (0) or upper (1) interval end of the smaller of sensitivity and specificity."""
    ends = (rate.interval[end] for rate in (kind_rates.sensitivity, kind_rates.specificity))
    return min(float(end) if one is None else one for one in ends)
