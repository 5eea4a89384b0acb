"""What the commands that let models write share: options, progress, the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import options, screen

if TYPE_CHECKING:
    from creval.build.review import Review
    from creval.engine.caller import Progress
    from creval.engine.settings import Settings
    from creval.engine.writing import Wrote

_SHOWN = 8  # pictures left out in notes

Images = Annotated[str, typer.Option(metavar="DIR", help="The pictures, also in folders inside.")]
Out = Annotated[str, typer.Option(metavar="BENCH", help="The benchmark's folder.")]
Writer = Annotated[str, typer.Option(metavar="SPEC", help="openai:gpt-4o, openai:MODEL@URL ...")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only N pictures, by chance.")]
Concurrency = Annotated[int, typer.Option(min=1, max=4096, help="Pictures under way at once.")]
Retries = Annotated[
    int, typer.Option(min=0, help="Ask again for what breaks a rule, up to N times.")
]
Attempts = Annotated[
    int, typer.Option(min=1, help="Make a call that brings no reply up to N times.")
]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds for a call.")]
Rpm = Annotated[float | None, typer.Option(min=0.01, help="Requests a minute.")]
Prompts = Annotated[
    str | None, typer.Option(metavar="DIR", help="Texts of your own (creval prompts).")
]
Price = Annotated[
    str | None, typer.Option(metavar="IN,OUT", help="US dollars for a million tokens.")
]
Budget = Annotated[
    str | None, typer.Option(metavar="5USD", help="Stop when building has cost so much.")
]
KeyEnv = Annotated[
    str | None, typer.Option(metavar="NAME", help="The environment variable with the key.")
]
MaxUnanswered = Annotated[
    str, typer.Option(metavar="PERCENT", help="Exit with 1 if more pictures are left out.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is drawn by chance.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it will take, and stop.")]
ReviewFlag = Annotated[
    bool, typer.Option("--review", help="Then open a page to accept, change or drop what was made.")
]


def settings_of(
    *,
    limit: int | None,
    concurrency: int,
    retries: int,
    attempts: int,
    timeout: float,
    rpm: float | None,
    prompts: str | None,
    price: str | None,
    budget: str | None,
    key_env: str | None,
    seed: int,
    gauges: Mapping[str, str] | None = None,
) -> Settings:
    """The options as settings."""
    from creval.engine.settings import Settings

    return Settings(
        limit=limit,
        concurrency=concurrency,
        retries=retries,
        attempts=attempts,
        timeout=timeout,
        requests_a_minute=rpm,
        prompts=prompts,
        price=options.dollars_a_million(price),
        budget=options.dollars(budget),
        key=key_env,
        seed=seed,
        gauges=gauges or {},
    )


def watcher(line: screen.Line) -> Callable[[Progress], None]:
    """Shows how far building is."""
    from creval.report.text import count, duration, money

    def watch(progress: Progress) -> None:
        if not line.due():
            return
        passed = time.monotonic() - progress.began
        if progress.stopping:
            line.show(f"stopping: {progress.under_way:,} calls under way are finished first")
            return
        rate = (progress.done - progress.cached) / passed
        parts = [f"{progress.done:,} of about {progress.calls:,} calls", f"{rate:.1f}/s"]
        parts.append(f"{count(progress.tokens_in + progress.tokens_out)} tokens")
        if progress.cost:
            parts.append(money(progress.cost))
        faults = sum(progress.faults.values())
        if faults:
            parts.append(f"{faults:,} faults ({progress.faults.most_common(1)[0][0]})")
        if rate and progress.calls > progress.done:
            parts.append(f"about {duration((progress.calls - progress.done) / rate)} left")
        line.show(", ".join(parts))

    return watch


def facts_of(wrote: Wrote[Any]) -> dict[str, Any]:
    """What building came to, for another program."""
    progress = wrote.progress
    return {
        "made": len(wrote.made),
        "left_out": wrote.left_out,
        "calls": progress.made,
        "cached": progress.cached,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.cost,
        "stopped": wrote.stopped or None,
    }


def tell_end(wrote: Wrote[Any], what: str) -> None:
    """What was written, what was left out and why."""
    from creval.report.text import count, duration, many, money, visible

    progress = wrote.progress
    for said in wrote.notes:
        screen.note(visible(said))
    for name, reason in list(wrote.left_out.items())[:_SHOWN]:
        screen.note(visible(f"{name} is left out: {reason}"))
    if len(wrote.left_out) > _SHOWN:
        screen.note(f"... and {len(wrote.left_out) - _SHOWN:,} more (--json tells all).")
    spent = f", {money(progress.cost)}" if progress.cost else ""
    tokens = progress.tokens_in + progress.tokens_out
    passed = duration(time.monotonic() - progress.began)
    kept = f" ({progress.cached:,} texts were there already)" if progress.cached else ""
    screen.note(f"{progress.made:,} calls in {passed}{kept}, {count(tokens)} tokens{spent}")
    screen.note(f"{many(len(wrote.made), what)} made, {len(wrote.left_out):,} left out.")


def end(wrote: Wrote[Any], of: int, allowed: float) -> None:
    """Exit as every command does: 1 where too much was left out or the budget was reached."""
    if wrote.stopped == "interrupted":
        screen.note("stopped: what was written is kept; repeat the command to go on.")
        raise typer.Exit(130)
    if wrote.stopped == "budget":
        screen.note("stopped: the budget is reached; raise it to go on.")
        raise typer.Exit(1)
    share = len(wrote.left_out) / max(of, 1)
    if share > allowed:
        screen.note(f"{100 * share:.1f} % were left out: exit status 1 (--max-unanswered).")
        raise typer.Exit(1)


def open_review(review: Review) -> None:
    """The page on which people look through what was made."""
    from creval.web.review import serve_review

    serve_review(review)
