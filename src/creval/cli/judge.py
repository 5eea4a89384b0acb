"""`creval judge`: ask a multimodal model about every edit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, estimates, exit_status, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.calls.retry import Progress
    from creval.core.edit import EditStatus
    from creval.judging.plan import Answered
    from creval.judging.run import Judging
    from creval.judging.summary import Judged

_GLANCE = 100  # edits looked at for the estimate in one line
_SHOWN = 8  # reasons, files ... in a note


def judge(
    bench: options.Benchmark,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[DIR]...", help="More folders of edits.")
    ] = None,
    edits: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR...", help="A folder for each model: DIR or NAME=DIR."),
    ] = None,
    judge: Annotated[
        str, typer.Option(metavar="SPEC", help="openai:gpt-4o, openai:MODEL@URL, panel:A+B ...")
    ] = "",
    run: Annotated[
        str, typer.Option(metavar="RUN", help="The run's folder; made, or gone on with.")
    ] = "",
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask another system's questions: viescore ..."),
    ] = None,
    ask: Annotated[
        str, typer.Option(metavar="question|metric|sample", help="What is asked in one call.")
    ] = "metric",
    repeat: Annotated[int, typer.Option(min=1, help="Ask everything K times.")] = 1,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only N samples, spread over dimensions.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Only these metrics.")] = None,
    dimension: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these dimensions or categories.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these of the folders.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=4096, help="Calls under way at once.")
    ] = 32,
    retries: Annotated[
        int, typer.Option(min=0, help="Ask what a reply leaves open again, up to N times.")
    ] = 2,
    attempts: options.Attempts = 12,
    timeout: options.Timeout = 300.0,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    image_fit: options.ImageFit = "provider",
    show_instruction: Annotated[
        bool, typer.Option("--show-instruction", help="Let the judge see the instruction.")
    ] = False,
    logprobs: Annotated[
        bool, typer.Option("--logprobs", help="Score by the answer's token probabilities.")
    ] = False,
    reasoning: Annotated[
        bool | None,
        typer.Option(
            "--reasoning/--no-reasoning", help="Let the judge think aloud, or not at all."
        ),
    ] = None,
    no_rubric: Annotated[
        bool, typer.Option("--no-rubric", help="Leave out what each score stands for.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="If not given: 0, and 1 with --repeat.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of every request."),
    ] = None,
    gauge: Annotated[
        list[str] | None,
        typer.Option(metavar="USE=MODEL", help="Measure with a model: boxes=..., clip=..."),
    ] = None,
    prompts: options.Prompts = None,
    price: options.Price = None,
    budget: Annotated[
        str | None, typer.Option(metavar="5USD", help="Stop when the run has cost so much.")
    ] = None,
    until_decided: options.UntilDecided = None,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = 0.0,
    key_env: options.KeyEnv = None,
    max_unanswered: Annotated[
        str, typer.Option(metavar="PERCENT", help="Exit with 1 if more stay unanswered.")
    ] = "0.5",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of samples.")] = 0,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Ask a multimodal model about every edit; go on where an earlier run stopped."""
    from creval.benchmarks import open_benchmark
    from creval.calls.settings import Settings
    from creval.core.formatting import visible
    from creval.judging.estimate import estimate
    from creval.judging.run import Judging
    from creval.report.commands.early_stopping import stopped

    if not run:
        raise CrevalError("give --run RUN, the folder to keep the answers in.")
    allowed = options.percent(max_unanswered)
    settings = Settings(
        ask=ask,
        image_fit=image_fit,
        show_instruction=show_instruction,
        logprobs=logprobs,
        reasoning=reasoning,
        rubric=not no_rubric,
        temperature=temperature,
        parameters=options.parameters(set_ or ()),
        prompts=prompts,
        gauges=options.models_by_use(gauge or ()),
        repeat=repeat,
        limit=limit,
        metrics=options.names(metrics, "--metrics"),
        groups=options.names(dimension, "--dimension"),
        models=options.names(models, "--models"),
        seed=seed,
        concurrency=concurrency,
        retries=retries,
        attempts=attempts,
        timeout=timeout,
        requests_a_minute=rpm,
        tokens_a_minute=tpm,
        budget=options.dollars(budget),
        until=options.until(until_decided, alpha, margin),
        price=options.dollars_a_million(price),
        key=key_env,
    )
    folders = [*(edits or ()), *(more or ())]
    judging = Judging(open_benchmark(bench, protocol), folders, judge, run, settings, dry=dry_run)
    for line in judging.warnings():
        console.note(visible(line))
    if dry_run:
        _note_unmatched(judging.found.unmatched)
        _note_missing(judging.missing())
        if judging.gauges.opened:
            console.note(f"to be measured: {', '.join(judging.plan.gauges)}, which costs nothing")
        if judging.judges:
            estimates.show(estimate(judging, _held(judging)), concurrency, json)
        return
    expected = estimate(judging, judging.answered(), _GLANCE)
    if expected:
        console.note(("at most " if settings.until else "") + estimates.in_a_line(expected))
    shown = console.Line()
    try:
        done = judging.ask(_watcher(shown))
    finally:
        shown.clear()
    _print_summary(done, bool(judging.judges), run, json)
    settled = None if done.outcome is None else stopped(done.outcome)
    if json:
        console.print_json({**_facts(done), **(settled.as_json() if settled else {})})
    elif settled:
        console.show(settled)
    exit_status.exit_if_stopped(done.stopped, "answered")
    console.note(f"Now: creval score {quote(run)}")
    exit_status.exit_if_too_many(done.share_unanswered, allowed, "of what was wanted did not come")


def _held(judging: Judging) -> Mapping[str, Answered]:
    """What the run holds; nothing, and a note, where it cannot be looked into now."""
    try:
        return judging.answered()
    except CrevalError as error:
        if "writ" not in str(error):
            raise
        console.note(f"what {judging.run} holds already is not counted: {error}")
        return {}


def _watcher(line: console.Line) -> Callable[[Progress], None]:
    from creval.core.formatting import count, duration, money

    def watch(progress: Progress) -> None:
        if not line.due():
            return
        passed = time.monotonic() - progress.began
        rate = (progress.done - progress.cached) / passed
        done, left = progress.done, progress.calls - progress.done
        if progress.stopping:
            calls = f"{progress.under_way:,} calls under way"
            line.show(f"stopping: {calls} are finished first; Ctrl-C again does not wait")
            return
        parts = []
        if progress.to_measure:
            parts.append(f"{progress.measured:,} of {progress.to_measure:,} measurements")
        about = "about " if progress.guessed else ""
        if progress.calls:
            parts += [f"{done:,} of {progress.calls:,} calls", f"{rate:.1f}/s"]
            parts.append(f"{progress.answered:,} answered, {progress.open:,} unanswered")
            tokens = progress.tokens_in + progress.tokens_out
            if tokens:
                parts.append(f"{about}{count(tokens)} tokens")
        if progress.cost:
            parts.append(f"{about}{money(progress.cost)}")
        faults = sum(progress.faults.values())
        if faults:
            parts.append(f"{faults:,} faults ({progress.faults.most_common(1)[0][0]})")
        if rate and left:
            parts.append(f"{duration(left / rate)} left")
        line.show(", ".join(parts))

    return watch


def _print_summary(done: Judged, judged: bool, run: str, json: bool) -> None:
    from creval.core.formatting import count, duration, money, visible
    from creval.report.run_facts import statuses
    from creval.report.sentences import listed

    progress = done.progress
    for note in done.notes:
        console.note(visible(note))
    _note_unmatched(done.unmatched)
    _note_missing(done.missing)
    for name, reason in list(progress.broken.items())[:_SHOWN]:
        console.note(visible(f"{name} was not asked about: {reason}"))
    if len(progress.broken) > _SHOWN:
        query = (
            "SELECT system, sample, reason FROM edits WHERE status = 'failed' AND image IS NOT NULL"
        )
        more = len(progress.broken) - _SHOWN
        console.note(f'... and {more} more: sqlite3 {quote(run)}/creval.db "{query}"')
    if progress.faults:
        kinds = ", ".join(f"{kind} {n}" for kind, n in progress.faults.most_common(_SHOWN))
        console.note(visible(f"calls that brought no answer: {kinds}"))
    what = "questions" if done.voices == 1 else f"questions x {done.voices}"
    if done.statuses and not json:
        console.print_grid(statuses(done.statuses, what))
    if done.measured or done.unmeasured:
        console.note(f"{done.measured:,} edits are measured")
    if done.unmeasured:
        console.note(f"{done.lacking:,} lack what could not be measured: {listed(done.unmeasured)}")
    if judged and done.statuses:
        about = "about " if progress.guessed else ""
        spent = f", {about}{money(progress.cost)}" if progress.cost else ""
        tokens = progress.tokens_in + progress.tokens_out
        console.note(
            f"{progress.made:,} calls in {duration(time.monotonic() - progress.began)}"
            + (f", {about}{count(tokens)} tokens{spent}" if tokens else "")
        )
    if done.unanswered:
        console.note(f"{done.unanswered:,} of {done.asked:,} answers did not come:")
        for reason, number in done.reasons[:_SHOWN]:
            console.note(visible(f"  {number:,} {reason}"))
        for example in done.examples:
            console.note(visible(f"  such as {example}"))
        again = "Repeating the command" if judged else "With --judge, the command"
        console.note(f"{again} asks them once more.")


def _facts(done: Judged) -> dict[str, Any]:
    """What a run came to, for another program."""
    progress = done.progress
    return {
        "answers": done.statuses,
        "missing": {
            system: {str(status): number for status, number in counts.items()}
            for system, counts in done.missing.items()
        },
        "unanswered": [{"reason": reason, "answers": number} for reason, number in done.reasons],
        "calls": progress.made,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.spent,
        "guessed": progress.guessed,
        "measured": done.measured,
        "stopped": done.stopped or None,
    }


def _note_missing(missing: Mapping[str, Mapping[EditStatus, int]]) -> None:
    from creval.core.formatting import many, visible

    for system, counts in missing.items():
        total = many(sum(counts.values()), "edit")
        words = ", ".join(f"{number:,} {status}" for status, number in counts.items())
        console.note(visible(f"{system} lacks {total} ({words}): not asked about"))


def _note_unmatched(names: Sequence[str]) -> None:
    from creval.core.formatting import visible

    if names:
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        console.note(visible(f"{len(names)} pictures belong to no sample: {shown}"))
