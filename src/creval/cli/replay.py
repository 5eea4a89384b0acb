"""`creval replay`: a run from recorded answers."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, options

if TYPE_CHECKING:
    from creval.core.benchmark import Benchmark
    from creval.judging.replay import Replayed
    from creval.stats.early_stopping import Outcome
    from creval.stats.elimination import Rule


def replay(
    bench: options.Benchmark,
    answers: Annotated[str, typer.Option(metavar="DIR", help="METRIC/MODEL/ID.json or .txt")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run's folder; made if need be.")],
    raw: Annotated[bool, typer.Option(help="Prefer the judge's raw replies (ID.txt).")] = False,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this model; may be repeated.")
    ] = None,
    until_decided: options.UntilDecided = None,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of samples.")] = 0,
    json: options.Json = False,
) -> None:
    """Make a run from recorded answers."""
    from creval.benchmarks import open_benchmark
    from creval.core.formatting import visible
    from creval.judging.replay import replay as replayed
    from creval.report.commands.early_stopping import stopped
    from creval.report.run_facts import statuses

    rule = options.until(until_decided, alpha, margin)
    benchmark = open_benchmark(bench)
    done = replayed(benchmark, answers, run, raw=raw, models=model or (), track=console.track)
    for path, reason in list(done.broken.items())[:20]:
        console.note(visible(f"no answers in {path}: {reason}"))
    if len(done.broken) > 20:
        console.note(f"... and {len(done.broken) - 20} more files without answers.")
    for names, what in (
        (done.recording.unmatched, "answers match no sample and were left"),
        (done.recording.ignored, "other files or folders were left"),
    ):
        if names:
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            console.note(visible(f"{len(names)} {what}: {shown}"))
    answered = {file.metric for file in done.recording.files}
    absent = benchmark.asked_metrics - answered
    if absent:
        console.note(f"no answers in {', '.join(sorted(absent))}: these metrics stay empty")
    problems = [found for found in benchmark.dataset.findings if not found.repaired]
    if problems:
        console.note(
            f"{len(problems)} problems in the benchmark's files: creval bench {quote(bench)}"
        )
    outcome = _decided(benchmark, done, run, rule, seed) if rule is not None else None
    if json:
        ended = {name: {str(s): n for s, n in of.items()} for name, of in done.statuses.items()}
        found = {} if outcome is None else {**stopped(outcome).as_json(), "seed": seed}
        console.print_json({"judge": done.recording.judge, "answers": ended, **found})
        return
    console.print_grid(statuses(done.statuses))
    if outcome is not None:
        console.show(stopped(outcome))
    console.note(f"Now: creval score {quote(run)}")


def _decided(benchmark: Benchmark, done: Replayed, run: str, rule: Rule, seed: int) -> Outcome:
    """What asking for these answers only until the question is settled would have come to."""
    from creval.analysis.score_table import tabulate
    from creval.judging.early_stopping import decide
    from creval.store import open_run

    with open_run(run) as opened:
        table = tabulate(opened, systems=done.recording.systems)
    return decide(table, benchmark.dataset.samples, rule, seed)
