"""What models will take, before anything is spent: a table, or a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from creval.cli import console

if TYPE_CHECKING:
    from creval.calls.estimate import Estimate


def show(
    estimates: Sequence[Estimate],
    concurrency: int,
    json: bool,
    of: tuple[int, str] | None = None,
    price: str = "--price IN,OUT",
    left_out: Mapping[str, str] | None = None,
) -> None:
    """A row for each model, or the same as JSON; `of` is what it is for, such as 12 pictures, and
    `price` what gives a price that is not known. JSON also says what is `left_out`, and why."""
    from creval.core.formatting import many

    if json:
        facts: dict[str, object] = {f"{of[1]}s": of[0]} if of else {}
        facts |= {} if left_out is None else {"left_out": dict(left_out)}
        console.print_json({**facts, "estimates": [_facts(made) for made in estimates]})
    else:
        _print_table(estimates)
    paces = " and ".join(f"{pace:g}" for pace in sorted({made.pace for made in estimates}))
    console.note(
        (f"For {many(*of)}, if little has to be asked again. " if of else "")
        + f"Time at {paces} s a call, {concurrency} at once. Image tokens by the "
        "provider's formula; other tokens are guessed. Nothing was asked."
    )
    unopened = max(made.unopened for made in estimates)
    if unopened:
        console.note(f"{unopened} edits cannot be opened and are not asked about.")
    unpriced = dict.fromkeys(made.judge for made in estimates if _unpriced(made))
    if unpriced:
        console.note(f"No price is known for {', '.join(unpriced)}: {price} gives it.")


def in_a_line(estimates: Sequence[Estimate]) -> str:
    """What models will take, all of them together."""
    from creval.core.formatting import count, many, money

    calls = sum(made.calls for made in estimates)
    cached = sum(made.cached for made in estimates)
    tokens = sum(made.tokens_in + made.tokens_out for made in estimates)
    kept = f" ({cached:,} are answered already)" if cached else ""
    line = f"{many(calls, 'call')}{kept}" + (f", about {count(tokens)} tokens" if tokens else "")
    costs = [made.cost for made in estimates if made.cost is not None]
    if not costs:
        return line
    about = "at least" if any(map(_unpriced, estimates)) else "about"
    return f"{line}, {about} {money(sum(costs))}"


def _print_table(estimates: Sequence[Estimate]) -> None:
    from creval.core.formatting import count, duration, money, size
    from creval.report.output import Grid

    who = "model" if any(made.role for made in estimates) else "judge"
    heads = [who, "calls", "cached", "images", "tokens in", "tokens out", "money", "time"]
    rows = [
        [
            f"{made.role}: {made.judge}" if made.role else made.judge,
            f"{made.calls:,}",
            f"{made.cached:,}",
            f"{made.pictures:,}",
            count(made.tokens_in),
            count(made.tokens_out),
            "unknown" if _unpriced(made) else money(made.cost or 0.0),
            duration(made.seconds),
        ]
        for made in estimates
    ]
    if any(made.size for made in estimates):
        heads.insert(4, "bytes")
        for row, made in zip(rows, estimates, strict=True):
            row.insert(4, size(made.size))
    console.print_grid(Grid(heads, rows))


def _facts(made: Estimate) -> dict[str, object]:
    return {name: value for name, value in vars(made).items() if name != "role" or value}


def _unpriced(made: Estimate) -> bool:
    """Whether it costs something that nobody knows."""
    return made.cost is None and (made.tokens_in > 0 or made.role == "editor")
