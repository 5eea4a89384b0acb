"""`creval judge`: judge every edit with a multimodal model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import console, estimate_output, options
from creval.core.errors import CrevalError, require_known

if TYPE_CHECKING:
    from creval.core.edit_record import EditStatus
    from creval.judging.judge_run import JudgeRun
    from creval.judging.plan import AnsweredProbes
    from creval.judging.summary import JudgeSummary

_ESTIMATE_SAMPLE = 100  # edits that the one-line estimate is extrapolated from
_MAX_SHOWN = 8  # reasons or files in a note


def judge(
    bench: options.Benchmark,
    more: Annotated[list[str] | None, typer.Argument(metavar="[DIR]...", help="More folders of edits.")] = None,
    edits: Annotated[
        list[str] | None, typer.Option(metavar="DIR...", help="Folder of each model's edits: DIR or NAME=DIR.")
    ] = None,
    judge: Annotated[str, options.spec("judges", "openai:gpt-4o, openai:MODEL@URL, panel:A+B ...")] = "",
    run: Annotated[str, typer.Option(metavar="RUN", help="The run's folder; created, or resumed if it exists.")] = "",
    protocol: Annotated[
        str | None, options.spec("protocols", "Use the questions of another protocol: viescore ...", "NAME")
    ] = None,
    ask: Annotated[
        str,
        typer.Option(
            metavar="question|metric|sample", help="Questions per call: one, those of a metric, or those of a sample."
        ),
    ] = "metric",
    repeat: Annotated[int, typer.Option(min=1, help="Ask every question K times.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only N samples, balanced over dimensions.")] = None,
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Only these metrics.")] = None,
    dimension: Annotated[str | None, typer.Option(metavar="A,B", help="Only these dimensions or categories.")] = None,
    models: Annotated[str | None, typer.Option(metavar="A,B", help="Only these models.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=4096, help="Concurrent calls.")] = 32,
    retries: Annotated[int, typer.Option(min=0, help="Re-ask questions left unanswered, up to N times.")] = 2,
    attempts: options.Attempts = 12,
    timeout: options.Timeout = 300.0,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    image_fit: options.ImageFit = "provider",
    show_instruction: Annotated[
        bool, typer.Option("--show-instruction", help="Show the instruction to the judge.")
    ] = False,
    logprobs: Annotated[bool, typer.Option("--logprobs", help="Score by the answer's token probabilities.")] = False,
    reasoning: Annotated[
        bool | None,
        typer.Option("--reasoning/--no-reasoning", help="Ask for reasoning before answers, or for answers alone."),
    ] = None,
    no_rubric: Annotated[
        bool, typer.Option("--no-rubric", help="Do not show the scoring rubric to the judge.")
    ] = False,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Temperature of the judge; by default 0, or 1 with --repeat.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Parameter of every request; repeatable.")
    ] = None,
    metric_model: Annotated[
        list[str] | None, typer.Option(metavar="USE=MODEL", help="Model of a metric: boxes=..., clip=...")
    ] = None,
    prompts: options.Prompts = None,
    price: options.Price = None,
    budget: Annotated[str | None, typer.Option(metavar="5USD", help="Stop when the run has cost this much.")] = None,
    until_decided: options.UntilDecided = None,
    alpha: options.Alpha = 0.05,
    margin: options.Margin = 0.0,
    key_env: options.KeyEnv = None,
    max_unanswered: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="Exit with status 1 if more than this share of the answers is missing."),
    ] = "0.5",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of samples.")] = 0,
    keep_old: options.KeepOld = False,
    redo: options.Redo = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Do not use cached answers of other runs (creval cache).")
    ] = False,
    label: options.Label = None,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> None:
    """Judge every edit with a multimodal model. Resumes an interrupted run."""
    from creval.benchmarks import open_benchmark
    from creval.calls.settings import JudgeSettings
    from creval.judging.estimate import estimate_judge_costs
    from creval.judging.judge_run import JudgeRun
    from creval.reporting.commands.early_stopping_output import early_stopping_output

    if not run:
        raise CrevalError("give --run RUN, the folder for the answers.")
    allowed = options.parse_share(max_unanswered)
    settings = JudgeSettings(
        batch_by=ask,
        image_fit=image_fit,
        show_instruction=show_instruction,
        logprobs=logprobs,
        reasoning=reasoning,
        rubric=not no_rubric,
        temperature=temperature,
        parameters=options.parse_parameters(set_ or ()),
        prompts=prompts,
        metric_models=options.parse_metric_models(metric_model or ()),
        repeat=repeat,
        limit=limit,
        metrics=options.parse_names(metrics, "--metrics"),
        groups=options.parse_names(dimension, "--dimension"),
        models=options.parse_names(models, "--models"),
        seed=seed,
        concurrency=concurrency,
        retries=retries,
        attempts=attempts,
        timeout=timeout,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
        budget=options.parse_budget(budget),
        stopping_rule=options.parse_stopping_rule(until_decided, alpha, margin),
        price=options.parse_token_price(price),
        key_env=key_env,
        keep_old=keep_old,
        redo=redo,
        cache=not no_cache,
    )
    folders = [*(edits or ()), *(more or ())]
    judging = JudgeRun(open_benchmark(bench, protocol), folders, judge, run, settings, dry_run=dry_run)
    for name in options.parse_labels(label):
        require_known("model", name, judging.plan.models)
    _print_warnings(judging)
    if dry_run:
        _print_dry_run(judging, json)
        return
    expected = estimate_judge_costs(judging, judging.read_answered(), _ESTIMATE_SAMPLE)
    if expected:
        console.print_note(("at most " if settings.stopping_rule else "") + estimate_output.format_estimates(expected))
    with console.ProgressLine() as shown:
        done = judging.run(console.watch_calls(shown))
    options.keep_labels(run, label)
    _print_summary(done, bool(judging.judges), run, json)
    settled = None if done.outcome is None else early_stopping_output(done.outcome)
    if json:
        console.print_json({**_summary_json(done), **(settled.as_json() if settled else {})})
    elif settled:
        console.print_output(settled)
    console.exit_if_stopped(done.stopped, "answered")
    console.print_note(f"Now: creval score {quote(run)}")
    console.exit_if_too_many_missing(done.share_unanswered, allowed, "of the answers are missing")


def _print_warnings(judging: JudgeRun) -> None:
    from creval.core.formatting import pluralise
    from creval.reporting.manifest_sentences import prompt_sentences

    console.print_note(*judging.warnings())
    if judging.judges:
        versions = [prompt.version for prompt in judging.prompts.values()]
        console.print_note(*prompt_sentences(judging.benchmark.protocol.name, versions))
    if cached := judging.count_cached_answers():
        console.print_note(
            f"The cache has {pluralise(cached, 'answer')} of this judge. This run may use some of them, so the "
            "estimate may be too high."
        )


def _print_dry_run(judging: JudgeRun, json: bool) -> None:
    from creval.judging.estimate import estimate_judge_costs

    _note_unmatched(judging.found_edits.unmatched_files)
    _note_missing(judging.count_missing())
    if judging.run_metrics.image_metrics:
        console.print_note(f"to be measured, free of cost: {', '.join(judging.plan.image_metric_names)}")
    if judging.judges:
        estimates = estimate_judge_costs(judging, _stored_answers(judging))
        estimate_output.print_estimates(estimates, judging.settings.concurrency, json)


def _stored_answers(judging: JudgeRun) -> Mapping[str, AnsweredProbes]:
    """Return the run's answers. If they cannot be read because another process writes, print a note and return {}."""
    from creval.store.lock import StoreNotWritableError

    try:
        return judging.read_answered()
    except StoreNotWritableError as error:
        console.print_note(f"existing answers in {judging.run_folder} are not counted: {error}")
        return {}


def _print_summary(summary: JudgeSummary, judged: bool, run: str, json: bool) -> None:
    from creval.reporting.run_facts import status_table
    from creval.reporting.sentences import format_reasons

    progress = summary.progress
    console.print_note(*summary.notes)
    _note_unmatched(summary.unmatched_files)
    _note_missing(options.with_shown_names(run, summary.missing_edits))
    for name, reason in list(progress.unreadable_edits.items())[:_MAX_SHOWN]:
        console.print_note(f"{name} was skipped: {reason}")
    if len(progress.unreadable_edits) > _MAX_SHOWN:
        query = "SELECT system, sample, reason FROM edits WHERE status = 'failed' AND image IS NOT NULL"
        more = len(progress.unreadable_edits) - _MAX_SHOWN
        console.print_note(f'... and {more} more: sqlite3 {quote(run)}/creval.db "{query}"')
    console.print_note(*console.error_notes(progress))
    what = "questions" if summary.voices == 1 else f"questions x {summary.voices}"
    if summary.statuses and not json:
        console.print_table(status_table(options.with_shown_names(run, summary.statuses), what))
    if summary.measured_edits or summary.unmeasured_reasons:
        console.print_note(f"{summary.measured_edits:,} edits are measured")
    if summary.unmeasured_reasons:
        reasons = format_reasons(summary.unmeasured_reasons)
        console.print_note(f"{summary.incomplete_edits:,} lack values that could not be measured: {reasons}")
    if judged and summary.statuses:
        summary_line = console.call_summary(progress, folder_calls=summary.run_calls)
        console.print_note("; ".join(filter(None, (summary_line, summary.cache_sentence))))
    if summary.unanswered:
        console.print_note(f"{summary.unanswered:,} of {summary.expected_answers:,} answers are missing:")
        for reason, number in summary.reasons[:_MAX_SHOWN]:
            console.print_note(f"  {number:,} {reason}")
        for example in summary.examples:
            console.print_note(f"  for example {example}")
        again = "Repeat the command" if judged else "Add --judge to the command"
        console.print_note(f"{again} to ask them again.")


def _summary_json(summary: JudgeSummary) -> dict[str, Any]:
    """Return the results of a run for JSON."""
    progress = summary.progress
    return {
        "answers": summary.statuses,
        "missing": {
            model: {str(status): number for status, number in counts.items()}
            for model, counts in summary.missing_edits.items()
        },
        "unanswered": [{"reason": reason, "answers": number} for reason, number in summary.reasons],
        "calls": progress.calls_answered,
        **({"cached": progress.shared, "saved": progress.saved} if progress.shared else {}),
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.spent,
        "guessed": progress.tokens_estimated,
        "measured": summary.measured_edits,
        "stopped": summary.stopped or None,
    }


def _note_missing(missing: Mapping[str, Mapping[EditStatus, int]]) -> None:
    from creval.core.formatting import pluralise

    for model, counts in missing.items():
        total = pluralise(sum(counts.values()), "edit")
        words = ", ".join(f"{number:,} {status}" for status, number in counts.items())
        console.print_note(f"{model} lacks {total} ({words}): skipped")


def _note_unmatched(names: Sequence[str]) -> None:

    if names:
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        console.print_note(f"{len(names)} images match no sample: {shown}")
