"""Output of cost estimates: a table, or one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from creval.cli import console

if TYPE_CHECKING:
    from creval.calls.cost_estimate import CostEstimate


def print_estimates(
    estimates: Sequence[CostEstimate],
    concurrency: int,
    json: bool,
    subject: tuple[int, str] | None = None,
    price: str = "--price IN,OUT",
    left_out: Mapping[str, str] | None = None,
) -> None:
    """Print a table of estimates with a row for each model, or JSON.

    `subject` says what the estimate is for, such as 12 images. `price` names the option that sets an unknown price.
    `left_out` are the skipped items with reasons, for JSON.
    """
    from creval.core.formatting import pluralise

    if json:
        facts: dict[str, object] = {}
        if subject:  # JSON keys are older than the word "image" in messages
            facts["pictures" if subject[1] == "image" else f"{subject[1]}s"] = subject[0]
        facts |= {} if left_out is None else {"left_out": dict(left_out)}
        console.print_json({**facts, "estimates": [_estimate_json(made) for made in estimates]})
    else:
        _print_estimates_table(estimates)
    paces = " and ".join(f"{pace:g}" for pace in sorted({made.pace for made in estimates}))
    console.print_note(
        (f"For {pluralise(*subject)}, with few retries. " if subject else "")
        + f"Time: {paces} s per call, {concurrency} calls at once. Image tokens by the "
        "provider's formula; other tokens are guesses. No calls were made."
    )
    thinking = {made.judge: made.thinking for made in estimates if made.thinking}
    for judge, tokens in thinking.items():
        console.print_note(
            f"{judge} reasons before it answers: {tokens:,} reasoning tokens per call are a guess and may be too few."
        )
    unopened = max(made.unopened for made in estimates)
    if unopened:
        console.print_note(f"{unopened} edits cannot be opened and are skipped.")
    unpriced = dict.fromkeys(made.judge for made in estimates if _has_unknown_price(made))
    if unpriced:
        console.print_note(f"No price is known for {', '.join(unpriced)}. Give it with {price}.")


def format_estimates(estimates: Sequence[CostEstimate]) -> str:
    """Return the total estimate of all models in one line."""
    from creval.core.formatting import format_count, format_money, pluralise

    calls = sum(made.calls for made in estimates)
    cached = sum(made.cached for made in estimates)
    tokens = sum(made.tokens_in + made.tokens_out for made in estimates)
    kept = f" ({cached:,} already answered)" if cached else ""
    line = f"{pluralise(calls, 'call')}{kept}" + (f", about {format_count(tokens)} tokens" if tokens else "")
    line += " (thinking is a guess)" if tokens and any(made.thinking for made in estimates) else ""
    costs = [made.cost for made in estimates if made.cost is not None]
    if not costs:
        return line
    about = "at least" if any(map(_has_unknown_price, estimates)) else "about"
    return f"{line}, {about} {format_money(sum(costs))}"


def _print_estimates_table(estimates: Sequence[CostEstimate]) -> None:
    from creval.core.formatting import format_bytes, format_count, format_duration, format_money
    from creval.reporting.output import OutputTable

    who = "model" if any(made.role for made in estimates) else "judge"
    heads = [who, "calls", "cached", "images", "tokens in", "tokens out", "money", "time"]
    rows = [
        [
            f"{made.role}: {made.judge}" if made.role else made.judge,
            f"{made.calls:,}",
            f"{made.cached:,}",
            f"{made.images:,}",
            format_count(made.tokens_in),
            format_count(made.tokens_out),
            "unknown" if _has_unknown_price(made) else format_money(made.cost or 0.0),
            format_duration(made.seconds),
        ]
        for made in estimates
    ]
    if any(made.size for made in estimates):
        heads.insert(4, "bytes")
        for row, made in zip(rows, estimates, strict=True):
            row.insert(4, format_bytes(made.size))
    console.print_table(OutputTable(heads, rows))


def _estimate_json(estimate: CostEstimate) -> dict[str, object]:
    entry = {"pictures" if name == "images" else name: of for name, of in vars(estimate).items()}
    return {name: value for name, value in entry.items() if name not in ("role", "thinking") or value}


def _has_unknown_price(estimate: CostEstimate) -> bool:
    """Return whether calls cost money at an unknown price."""
    return estimate.cost is None and (estimate.tokens_in > 0 or estimate.role == "editor")
