"""`creval replay`: create a run from recorded answers."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

import typer

from creval.cli import console, options


def replay(
    bench: options.Benchmark,
    answers: Annotated[str, typer.Option(metavar="DIR", help="Recorded answers: METRIC/MODEL/ID.json or .txt.")],
    run: Annotated[str, typer.Option(metavar="RUN", help="The run's folder; created if needed.")],
    raw: Annotated[bool, typer.Option(help="Prefer the judge's raw replies (ID.txt).")] = False,
    model: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only this model; repeatable.")] = None,
    until_decided: options.UntilDecided = None,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of samples.")] = 0,
    label: options.Label = None,
    json: options.Json = False,
) -> None:
    """Create a run from recorded answers."""
    from creval.api import runs
    from creval.benchmarks import open_benchmark
    from creval.reporting.commands.early_stopping_output import early_stopping_output
    from creval.reporting.run_facts import status_table

    rule = options.parse_stopping_rule(until_decided, alpha, margin)
    benchmark = open_benchmark(bench)
    done = runs.replay(benchmark, answers, run, raw=raw, models=model or (), stopping_rule=rule, seed=seed).value
    options.keep_labels(run, label)
    for path, reason in list(done.unreadable_files.items())[:20]:
        console.print_note(f"no answers in {path}: {reason}")
    if len(done.unreadable_files) > 20:
        console.print_note(f"... and {len(done.unreadable_files) - 20} more files without answers.")
    for names, what in (
        (done.recording.unmatched, "answers match no sample and were ignored"),
        (done.recording.ignored, "other files or folders were ignored"),
    ):
        if names:
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            console.print_note(f"{len(names)} {what}: {shown}")
    answered = {file.metric for file in done.recording.files}
    absent = benchmark.judged_metrics - answered
    if absent:
        console.print_note(f"no answers in {', '.join(sorted(absent))}: these metrics stay empty")
    problems = [found for found in benchmark.dataset.issues if not found.is_repaired]
    if problems:
        console.print_note(
            f"{len(problems)} problems in the benchmark's files. `creval bench {quote(bench)}` lists them."
        )
    outcome = done.outcome
    if json:
        ended = {name: {str(s): n for s, n in of.items()} for name, of in done.statuses.items()}
        found = {} if outcome is None else {**early_stopping_output(outcome).as_json(), "seed": seed}
        console.print_json({"judge": done.recording.judge, "answers": ended, **found})
        return
    console.print_table(status_table(options.with_shown_names(run, done.statuses)))
    if outcome is not None:
        console.print_output(early_stopping_output(outcome))
    console.print_note(f"Now: creval score {quote(run)}")
