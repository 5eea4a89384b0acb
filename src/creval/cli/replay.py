"""`creval replay`: a run from recorded answers."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from creval.cli import options, screen


def replay(
    bench: options.Benchmark,
    answers: Annotated[str, typer.Option(metavar="DIR", help="METRIC/MODEL/ID.json or .txt")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run's folder; made if need be.")],
    raw: Annotated[bool, typer.Option(help="Prefer the judge's raw replies (ID.txt).")] = False,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this model; may be repeated.")
    ] = None,
) -> None:
    """Make a run from recorded answers."""
    from creval.benchmarks import open_benchmark
    from creval.engine.replay import replay as replayed
    from creval.report.statuses import status_table
    from creval.report.text import visible

    benchmark = open_benchmark(bench)
    done = replayed(benchmark, answers, run, raw=raw, models=model or (), track=screen.track)
    for path, reason in list(done.broken.items())[:20]:
        screen.note(visible(f"no answers in {path}: {reason}"))
    if len(done.broken) > 20:
        screen.note(f"... and {len(done.broken) - 20} more files without answers.")
    for names, what in (
        (done.recording.unmatched, "answers match no sample and were left"),
        (done.recording.ignored, "other files or folders were left"),
    ):
        if names:
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            screen.note(visible(f"{len(names)} {what}: {shown}"))
    answered = {file.metric for file in done.recording.files}
    absent = benchmark.asked_metrics - answered
    if absent:
        screen.note(f"no answers in {', '.join(sorted(absent))}: these metrics stay empty")
    problems = [found for found in benchmark.dataset.findings if not found.repaired]
    if problems:
        screen.note(
            f"{len(problems)} problems in the benchmark's files: creval bench {quote(bench)}"
        )
    screen.console().print(status_table(done.statuses))
    screen.note(f"Now: creval score {quote(run)}")
