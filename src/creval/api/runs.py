"""Edit images, judge and measure the edits, replay recorded answers, and calibrate judges."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.api.inputs import BenchmarkLike, EditorLike, JudgeLike, as_benchmark, editor_spec
from creval.calls.settings import JudgeSettings
from creval.core.errors import CrevalError
from creval.core.formatting import pluralise
from creval.core.progress_line import ProgressLine, count_progress, track
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.result import Result

if TYPE_CHECKING:
    from creval.analysis.measure_edits import MeasuredEdit
    from creval.calls.cost_estimate import CostEstimate
    from creval.calls.retry import Progress
    from creval.editing.edit_run import EditRunResult, StrategyOptions
    from creval.editing.session import EditSettings
    from creval.editors.base import EditorOptions
    from creval.judging.calibration_run import TrialAnswers
    from creval.judging.replay_run import ReplaySummary
    from creval.judging.summary import JudgeSummary
    from creval.metrics.base import ImageMetric
    from creval.stats.elimination import StoppingRule


def watch_calls(line: ProgressLine, what: str) -> Callable[[Progress], None]:
    """Return a callback that shows the number of finished calls and the time left."""

    def watch(progress: Progress) -> None:
        if progress.done >= progress.calls:
            line.clear()
        elif line.due():
            passed = time.monotonic() - progress.started_at
            left = passed / max(1, progress.done) * (progress.calls - progress.done)
            line.show(f"{what}: {progress.done:,} of {progress.calls:,} calls, {left:.0f} s left")

    return watch


def edit(
    bench: BenchmarkLike,
    editor: EditorLike,
    out: str | Path,
    *,
    subset: str | None = None,
    groups: tuple[str, ...] | None = None,
    limit: int | None = None,
    strategy: StrategyOptions | str = "direct",
    draws: int = 1,
    editor_options: EditorOptions | None = None,
    settings: EditSettings | None = None,
    keep_old: bool = False,
    redo: bool = False,
) -> Result[EditRunResult]:
    """Edit every sample of a benchmark with a model, and save the images in the folder `out`.

    The folder's name is the name of the model. The same call resumes an interrupted one.

    `editor` is a spec such as `openai:gpt-image-1`, an editor object, or a function that takes a PIL image and an
    `instruction` and returns a PIL image. `draws` is the number of edits per sample, made with consecutive seeds.

    It is an error if the editor's code or model has changed since an earlier call. `keep_old` keeps the existing
    images and creates the missing ones with the new version; `redo` creates all of them again.
    """
    from creval.editing.edit_run import EditRun, StrategyOptions
    from creval.editing.session import EditSettings
    from creval.editors.base import EditorOptions
    from creval.judging.plan import select_samples
    from creval.store.code_versions import ChangeChoice

    benchmark = as_benchmark(bench)
    run = EditRun(
        benchmark,
        select_samples(benchmark, groups=groups, limit=limit, subset=subset),
        editor_spec(editor),
        Path(out),
        StrategyOptions(strategy) if isinstance(strategy, str) else strategy,
        editor_options or EditorOptions(),
        settings or EditSettings(),
        draws=draws,
        if_changed=ChangeChoice(keep_old, redo),
    )
    with ProgressLine() as line:
        done = run.run(lambda what, progress: watch_calls(line, what)(progress))
    edits = done.strategy_result.edits.values()
    records = [{**one.key._asdict(), "status": str(one.status), "reason": one.reason} for one in edits]
    row = [f"{done.edit_count:,}", *(f"{number:,}" for number in done.statuses.values())]
    grid = OutputTable(["edits" if draws > 1 else "samples", *done.statuses], [row], text_columns=0)
    reasons = [f"{number:,} without an image: {reason}" for reason, number in done.reasons]
    summary = f"{pluralise(done.statuses['done'], 'edit')} of {pluralise(done.sample_count, 'sample')} in {out}."
    data = {"samples": done.sample_count, "statuses": dict(done.statuses), "cost": done.cost}
    return Result(done, CommandOutput([summary], [grid], data, [*done.notes, *reasons]), records)


def estimate(
    bench: BenchmarkLike,
    edits: Sequence[str | Path],
    judge: JudgeLike,
    run: str | Path,
    settings: JudgeSettings | None = None,
    *,
    protocol: str | None = None,
) -> Result[Sequence[CostEstimate]]:
    """Estimate the calls, tokens, cost and time of `judge` with the same arguments. No calls are made."""
    from creval.judging.estimate import estimate_judge_costs
    from creval.judging.judge_run import JudgeRun

    judging = JudgeRun(as_benchmark(bench, protocol), edits, judge, run, settings, dry_run=True)
    found = estimate_judge_costs(judging, judging.read_answered())
    records = [{name: value for name, value in vars(one).items() if name != "role"} for one in found]
    heads = ["judge", "calls", "cached", "images", "tokens in", "tokens out", "USD", "seconds"]
    rows = [
        [
            one.judge,
            *(f"{n:,.0f}" for n in (one.calls, one.cached, one.images, one.tokens_in, one.tokens_out)),
            "unknown" if one.cost is None else f"{one.cost:.2f}",
            f"{one.seconds:,.0f}",
        ]
        for one in found
    ]
    calls = sum(one.calls for one in found)
    output = CommandOutput(
        [f"{pluralise(calls, 'call')} to make."], [OutputTable(heads, rows)], {"estimates": records}, judging.warnings()
    )
    return Result(found, output, records)


def judge(
    bench: BenchmarkLike,
    edits: Sequence[str | Path],
    judge: JudgeLike,
    run: str | Path,
    settings: JudgeSettings | None = None,
    *,
    protocol: str | None = None,
) -> Result[JudgeSummary]:
    """Ask a judge about every edit in the folders `edits`, and store the answers in the folder `run`.

    The same call resumes an interrupted one. `judge` is a spec such as `openai:gpt-4o`, a judge object or a function.
    """
    from creval.judging.judge_run import JudgeRun
    from creval.reporting.commands.early_stopping_output import early_stopping_output

    judging = JudgeRun(as_benchmark(bench, protocol), edits, judge, run, settings)
    with ProgressLine() as line:
        done = judging.run(watch_calls(line, "judging"))
    stopping = [] if done.outcome is None else early_stopping_output(done.outcome).sentences
    summary = f"{done.expected_answers - done.unanswered:,} of {done.expected_answers:,} answers received"
    stopped = f", then the run stopped: {done.stopped}" if done.stopped else ""
    reasons = [f"{number:,} unanswered: {reason}" for reason, number in done.reasons]
    notes = [*judging.warnings(), *done.notes, *filter(None, [done.cache_sentence]), *reasons]
    return _answers_result(done, done.statuses, [f"{summary}{stopped}.", *stopping], notes)


def replay(
    bench: BenchmarkLike,
    answers: str | Path,
    run: str | Path,
    *,
    raw: bool = False,
    models: Sequence[str] = (),
    stopping_rule: StoppingRule | None = None,
    seed: int = 0,
) -> Result[ReplaySummary]:
    """Create a run from recorded answers.

    With a `stopping_rule`, also report after how many answers the comparison of models could have stopped; `seed` sets
    the order of the samples.
    """
    from creval.judging.replay_run import replay as replay_answers
    from creval.reporting.commands.early_stopping_output import early_stopping_output

    done = replay_answers(
        as_benchmark(bench), answers, run, raw=raw, models=models, track=track, stopping_rule=stopping_rule, seed=seed
    )
    statuses = {model: {str(status): n for status, n in of.items()} for model, of in done.statuses.items()}
    stopping = [] if done.outcome is None else early_stopping_output(done.outcome).sentences
    notes = [f"no answers in {path}: {reason}" for path, reason in done.unreadable_files.items()]
    summary = f"Answers of {done.recording.judge} about {pluralise(len(statuses), 'model')}."
    return _answers_result(done, statuses, [summary, *stopping], notes)


def _answers_result(
    summary: Any, statuses: Mapping[str, Mapping[str, int]], sentences: Sequence[str], notes: Sequence[str]
) -> Result[Any]:
    from creval.reporting.run_facts import status_table

    records = [
        {"model": model, "status": str(status), "answers": number}
        for model, counts in statuses.items()
        for status, number in counts.items()
    ]
    grids = [status_table(statuses)] if statuses else []
    return Result(summary, CommandOutput(sentences, grids, {"answers": dict(statuses)}, notes), records)


def measure(
    metrics: str | Sequence[str] | Mapping[str, ImageMetric],
    *images: str | Path,
    edits: Sequence[str | Path] = (),
    bench: BenchmarkLike | None = None,
    metric_models: Mapping[str, str] | None = None,
    limit: int | None = None,
    cache: str | Path | None = None,
    mask: str | Path | None = None,
    caption: str = "",
    source_caption: str = "",
    wanted: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> Result[Sequence[MeasuredEdit]]:
    """Compute metrics of images: of a source and its edit, of one image, or of the folders `edits` of a benchmark.

    `metrics` are names (see `creval.registry.metrics.names()`) or a mapping of names to metric objects. `cache` is a
    folder that stores the features computed by models. `mask`, `caption`, `source_caption`, `wanted` and `removed` are
    only for `images`.

    >>> import creval
    >>> creval.measure("ssim", "source.png", "edit.png").frame()    # doctest: +SKIP
    """
    from creval.analysis.measure_edits import measure_edits, measure_images
    from creval.metrics.base import open_image_metrics, require_used_slots
    from creval.metrics.features import FeatureCache
    from creval.reporting.commands.metrics_output import measurement_rows, measurements_output
    from creval.store.feature_cache_file import FeatureCacheFile

    if isinstance(metrics, Mapping):
        if metric_models:
            raise CrevalError("`metric_models` are for metrics that are given by name.")
        opened = dict(metrics)
    else:
        opened = open_image_metrics([metrics] if isinstance(metrics, str) else metrics, metric_models or {})
        require_used_slots(metric_models or {}, opened)
    if bool(images) == bool(edits and bench is not None):
        raise CrevalError("give either one or two images, or `edits` and `bench`.")
    if images:
        texts = {name: tuple(of) for name, of in (("wanted", wanted), ("removed", removed)) if of}
        captions = {"source": source_caption, "target": caption}
        done = [measure_images(opened, images, mask=mask, captions=captions, texts=texts)]
    else:
        assert bench is not None  # noqa: S101 (checked above)
        benchmark, cache_file = as_benchmark(bench), None
        if cache is not None:
            Path(cache).mkdir(parents=True, exist_ok=True)
            cache_file = FeatureCacheFile(cache)
        try:
            with ProgressLine() as line:
                watch = count_progress(line, "edits measured")
                done = measure_edits(benchmark, edits, opened, FeatureCache(cache_file), limit=limit, on_progress=watch)
        finally:
            if cache_file is not None:
                cache_file.close()
    infos = [metric.info for metric in opened.values()]
    names = {"system": "model", "gauge": "metric"}
    rows = [row for one in done for info in infos for row in measurement_rows(one, info)]
    records = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    return Result(done, measurements_output(done, infos), records)


def calibrate(
    judge: JudgeLike,
    out: str | Path,
    *,
    samples: int = 60,
    repeat: int = 2,
    variants: bool = True,
    settings: JudgeSettings | None = None,
    seed: int = 0,
    dry_run: bool = False,
    on_estimate: Callable[[Sequence[CostEstimate]], None] | None = None,
) -> Result[Mapping[str, TrialAnswers]] | None:
    """Measure a judge's error rates on questions with known answers.

    Writes the rates to `out` (.json), for `score(run, correct=out)`, and an HTML page next to it. `on_estimate` is
    called with the estimated costs before the first call. With `dry_run`, no calls are made and the result is None.
    """
    from creval.core.files import atomic_write
    from creval.judging.calibration_run import CalibrationRun
    from creval.reporting.commands.calibration_output import calibration_output
    from creval.reporting.html import output_page

    path = Path(out)
    if path.suffix.casefold() != ".json":
        raise CrevalError(f"`out` {out}: give a file that ends in .json.")
    base = settings or JudgeSettings(temperature=0.0)
    trials = CalibrationRun(judge, path.with_suffix(""), samples, repeat, base, variants=variants, seed=seed)
    with ProgressLine() as line:
        trials.draw(count_progress(line, "edits drawn"), dry_run=dry_run)
    if on_estimate is not None:
        on_estimate(trials.estimate(dry_run=dry_run))
    if dry_run:
        return None
    answers = trials.run(lambda variant: watch_calls(ProgressLine(), variant))
    output = calibration_output(trials.judge_name, samples, seed, answers)
    atomic_write(path, dumps(output.as_json(), indent=2))
    atomic_write(path.with_suffix(".html"), output_page(f"Can {trials.judge_name} be trusted?", output))
    named = [("all", "", output.data["all"])]
    named += [(what, name, of) for what in ("metrics", "kinds") for name, of in output.data[what].items()]
    return Result(answers, output, [{"of": what, "name": name, **of} for what, name, of in named])
