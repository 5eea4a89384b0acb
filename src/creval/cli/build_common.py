"""What the commands that let models write share: options, how they run, what they say, the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, get_type_hints

import typer

from creval.cli import console, estimates, exit_status, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.building.review.model import Review
    from creval.calls.estimate import Estimate
    from creval.calls.event_loop import Watch
    from creval.calls.retry import Progress
    from creval.calls.settings import Settings
    from creval.calls.text_generation import Wrote

SHOWN = 8  # reasons in a note

Images = Annotated[str, typer.Option(metavar="DIR", help="The pictures, also in folders inside.")]
Out = Annotated[str, typer.Option(metavar="BENCH", help="The benchmark's folder.")]
Writer = Annotated[str, typer.Option(metavar="SPEC", help="openai:gpt-4o, openai:MODEL@URL ...")]


@dataclass(frozen=True)
class Common:
    """The options that all of them have."""

    limit: Annotated[int | None, typer.Option(min=1, help="Only N pictures or rows.")] = None
    concurrency: Annotated[
        int, typer.Option(min=1, max=4096, help="Pictures under way at once.")
    ] = 16
    retries: Annotated[
        int, typer.Option(min=0, help="Ask again for what breaks a rule, up to N times.")
    ] = 2
    attempts: options.Attempts = 12
    timeout: options.Timeout = 300.0
    rpm: options.Rpm = None
    tpm: options.Tpm = None
    image_fit: options.ImageFit = "provider"
    prompts: options.Prompts = None
    price: options.Price = None
    budget: Annotated[
        str | None, typer.Option(metavar="5USD", help="Stop when building has cost so much.")
    ] = None
    key_env: options.KeyEnv = None
    max_unanswered: Annotated[
        str, typer.Option(metavar="PERCENT", help="Exit with 1 if more pictures are left out.")
    ] = "0.5"
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn by chance.")] = 0
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="Go on in a folder, or only begin in a new one."),
    ] = True
    review: Annotated[
        bool,
        typer.Option("--review", help="Then open a page to accept, change or drop what was made."),
    ] = False
    dry_run: options.DryRun = False
    json: options.Json = False

    @property
    def allowed(self) -> float:
        """The share of pictures that may be left out."""
        return options.percent(self.max_unanswered)

    def settings(self, out: str, gauges: Mapping[str, str] | None = None) -> Settings:
        """The options as settings, for a folder that may be written into."""
        from creval.calls.settings import Settings

        options.percent(self.max_unanswered)  # what is wrong is said before anything is paid
        if not self.resume and Path(out).is_dir() and any(Path(out).iterdir()):
            raise CrevalError(f"--no-resume: {out} is not empty. Give another --out.")
        return Settings(
            limit=self.limit,
            concurrency=self.concurrency,
            retries=self.retries,
            attempts=self.attempts,
            timeout=self.timeout,
            requests_a_minute=self.rpm,
            tokens_a_minute=self.tpm,
            image_fit=self.image_fit,
            prompts=self.prompts,
            price=options.dollars_a_million(self.price),
            budget=options.dollars(self.budget),
            key=self.key_env,
            seed=self.seed,
            gauges=gauges or {},
        )


def command(made: Callable[..., None]) -> Callable[..., None]:
    """A command that has the options of `Common` too, which it is given as `common`."""
    shared = get_type_hints(Common, include_extras=True)
    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(made, eval_str=True).parameters.items()
        if name != "common"
    ]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Common, name), annotation=hint)
        for name, hint in shared.items()
    ]

    @wraps(made)
    def run(**given: Any) -> None:
        common = Common(**{name: given.pop(name) for name in shared})
        made(**given, common=common)

    # This is where typer looks for options.
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


class Done(Protocol):
    """What building came to."""

    progress: Progress
    left_out: dict[str, str]
    notes: list[str]
    stopped: str

    @property
    def share_left_out(self) -> float: ...


D = TypeVar("D", bound=Done, covariant=True)


class Building(Protocol[D]):
    """A benchmark to be made of so many pictures or samples (`what`)."""

    what: str
    settings: Settings

    @property
    def number(self) -> int: ...

    def warnings(self) -> Sequence[str]: ...

    def estimate(self) -> Sequence[Estimate]: ...

    def run(self, watch: Watch | None = None) -> D: ...


def carry_out(
    building: Building[D], common: Common, left_out: Mapping[str, str] | None = None
) -> D | None:
    """Say what it will take and, if that is not all that is wanted, build. What is known to be
    `left_out`, and why, is told to other programs, too."""
    from creval.core.formatting import many, visible

    for line in building.warnings():
        console.note(visible(line))
    expected, of = building.estimate(), (building.number, building.what)
    if common.dry_run:
        estimates.show(expected, building.settings.concurrency, common.json, of, left_out=left_out)
        return None
    console.note(f"{many(*of)}: about {estimates.in_a_line(expected)}")
    shown = console.Line()
    try:
        return building.run(watcher(shown))
    finally:
        shown.clear()


def watcher(line: console.Line) -> Callable[[Progress], None]:
    """Shows how far building is."""
    from creval.core.formatting import count, duration, money

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


def facts_of(done: Done) -> dict[str, Any]:
    """What building came to, for another program."""
    progress = done.progress
    return {
        "left_out": done.left_out,
        "calls": progress.made,
        "cached": progress.cached,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.spent,
        "stopped": done.stopped or None,
    }


def tell(done: Done, where: str) -> None:
    """What was left out and why, and what it took; `where` all reasons are."""
    from creval.core.formatting import count, duration, many, money, visible

    progress = done.progress
    for said in done.notes:
        console.note(visible(said))
    for name, reason in list(done.left_out.items())[:SHOWN]:
        console.note(visible(f"{name} is left out: {reason}"))
    if len(done.left_out) > SHOWN:
        console.note(f"... and {len(done.left_out) - SHOWN:,} more ({where})")
    if progress.faults:
        kinds = ", ".join(f"{kind} {n}" for kind, n in progress.faults.most_common(SHOWN))
        console.note(visible(f"calls that brought no answer: {kinds}"))
    tokens = progress.tokens_in + progress.tokens_out
    spent = f", {money(progress.cost)}" if progress.cost else ""
    console.note(
        f"{many(progress.made, 'call')} in {duration(time.monotonic() - progress.began)}"
        + (f", {count(tokens)} tokens{spent}" if tokens else "")
        + (f"; {many(progress.cached, 'text')} kept from before" if progress.cached else "")
    )


def tell_made(wrote: Wrote[Any], what: str, out: str) -> None:
    """The same, and how many there are."""
    from creval.building.manifest import RECORD
    from creval.core.formatting import many

    tell(wrote, f"{quote(out)}/{RECORD}")
    console.note(f"{many(len(wrote.made), what)} made, {len(wrote.left_out):,} left out.")


def end(
    done: Done, common: Common, out: str, there: bool, review: Callable[[Path], Review]
) -> None:
    """What comes next, if anything is `there`, or the exit status."""
    exit_status.exit_if_stopped(done.stopped, "written")
    if common.review and there:
        from creval.web.review.app import serve_review

        serve_review(review(Path(out)))
    elif there:
        console.note(f"Now: creval bench {quote(out)}")
    exit_status.exit_if_too_many(done.share_left_out, common.allowed, "were left out")
