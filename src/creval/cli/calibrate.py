"""`creval calibrate`: how far a judge can be trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import console, estimate_output, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.calls.retry import Progress


def calibrate(
    judge: Annotated[str, typer.Option(metavar="SPEC", help="openai:gpt-4o, pixel ...")],
    out: Annotated[str, typer.Option(metavar="FILE", help="Where the rates go, as JSON.")],
    samples: Annotated[int, typer.Option(min=6, max=9999, help="How many edits.")] = 60,
    repeat: Annotated[int, typer.Option(min=1, help="Ask what is as it is K times.")] = 2,
    variants: Annotated[bool, typer.Option("--variants/--no-variants", help="Also ask in changed ways.")] = True,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Calls at once.")] = 32,
    price: options.Price = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other pictures.")] = 0,
    json: options.Json = False,
    dry_run: options.DryRun = False,
) -> None:
    """Ask a judge questions whose answers are known, and say what to trust it for."""
    from creval.calls.settings import Settings
    from creval.core.files import atomic_write
    from creval.judges.judge_spec import open_judges
    from creval.judging.calibration_run import prepare_trial, run_trials, trial_settings
    from creval.judging.estimate import estimate_judge_costs
    from creval.reporting.commands.calibration_output import calibration_output
    from creval.reporting.html import output_page
    from creval.touchstone.calibration_trials import UNMODIFIED, VARIANTS, make_cases, make_trials

    path = Path(out)
    if path.suffix.casefold() != ".json":
        raise CrevalError(f"--out {out}: give a file that ends in .json.")
    folder = path.with_suffix("")
    names = list(VARIANTS) if variants else [UNMODIFIED]
    settings = Settings(repeat=repeat, temperature=0.0, concurrency=concurrency, price=options.parse_token_price(price))
    # A name that is wrong is said before anything is drawn.
    open_judges(judge, replace(settings.judge_options(), key_optional=dry_run))
    cases = make_cases(samples, seed)
    line = console.ProgressLine()
    drawn = folder / f"pictures-{samples}-{seed}"
    trials = make_trials(drawn, cases, names, console.count_progress(line, "edits drawn"))
    line.clear()
    runs = folder / f"runs-{samples}-{seed}"
    expected = []
    for name in names:
        one = prepare_trial(trials[name], judge, runs / name, trial_settings(name, settings), dry_run=dry_run)
        expected += estimate_judge_costs(one, one.read_answered(), None if dry_run else 50)
    console.print_note(estimate_output.format_estimates(expected))
    if dry_run:
        return
    heard = run_trials(trials, judge, runs, settings, _make_watcher)
    found = calibration_output(judge, samples, seed, heard)
    atomic_write(path, dumps(found.as_json(), indent=2))
    page = path.with_suffix(".html")
    atomic_write(page, output_page(f"Can {judge} be trusted?", found))
    console.print_output(found, json)
    console.print_note(f"wrote {out}, for creval score RUN --correct {out}, and {page}, to look at.")


def _make_watcher(variant: str) -> Callable[[Progress], None]:
    line = console.ProgressLine()

    def watch(progress: Progress) -> None:
        if progress.done >= progress.calls:
            line.clear()
        elif line.due():
            passed = time.monotonic() - progress.started_at
            left = passed / max(1, progress.done) * (progress.calls - progress.done)
            done = f"{progress.done:,} of {progress.calls:,} calls"
            line.show(f"{variant}: {done}, {left:.0f} s left")

    return watch
