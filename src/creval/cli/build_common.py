"""Shared parts of the `creval build` commands that use models: options, execution, output, exit status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from creval.cli import console, estimate_output, options
from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.building.base import Builder
    from creval.building.review.base import Review
    from creval.calls.settings import JudgeSettings
    from creval.calls.text_generation import GenerationResult
    from creval.reporting.output import CommandOutput

T = TypeVar("T")
MAX_REASONS = 8  # reasons in a note

Images = Annotated[str, typer.Option(metavar="DIR", help="Folder of images, including subfolders.")]
Out = Annotated[str, typer.Option(metavar="BENCH", help="The benchmark's folder.")]
Writer = Annotated[str, options.spec("judges", "Model that writes: openai:gpt-4o, openai:MODEL@URL ...")]


@dataclass(frozen=True)
class BuildFlags:
    """Options that all build commands share."""

    name: Annotated[str, typer.Option(metavar="NAME", help="The benchmark's title; by default the folder's name.")] = ""
    limit: Annotated[int | None, typer.Option(min=1, help="Use only N images, or rows of a table.")] = None
    concurrency: Annotated[
        int, typer.Option(min=1, max=4096, help="Number of images that are processed at a time.")
    ] = 16
    retries: Annotated[int, typer.Option(min=0, help="Request texts that break a rule again, up to N times.")] = 2
    attempts: options.Attempts = 12
    timeout: options.Timeout = 300.0
    rpm: options.Rpm = None
    tpm: options.Tpm = None
    image_fit: options.ImageFit = "provider"
    prompts: options.Prompts = None
    price: options.Price = None
    budget: Annotated[str | None, typer.Option(metavar="5USD", help="Stop when the build has cost this much.")] = None
    key_env: options.KeyEnv = None
    max_unanswered: Annotated[
        str,
        typer.Option(metavar="PERCENT", help="Exit with status 1 if more than this share of the images is left out."),
    ] = "0.5"
    duplicates: Annotated[
        str, typer.Option(metavar="keep|skip", help="Only report duplicate images, or leave them out.")
    ] = "keep"
    seed: Annotated[int, typer.Option(min=0, help="Seed of random choices.")] = 0
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Resume in an existing folder, or require a new one.")
    ] = True
    review: Annotated[
        bool, typer.Option("--review", help="At the end, open a page to accept, change or drop samples.")
    ] = False
    dry_run: options.DryRun = False
    json: options.Json = False

    @property
    def max_left_out(self) -> float:
        """The share of images that may be left out."""
        return options.parse_share(self.max_unanswered)

    def settings(self, out: str, metric_models: Mapping[str, str] | None = None) -> JudgeSettings:
        """Return the options as settings. Raises an error if `out` must be new and is not."""
        from creval.calls.settings import JudgeSettings

        options.parse_share(self.max_unanswered)  # fail before the first call
        if not self.resume and Path(out).is_dir() and any(Path(out).iterdir()):
            raise CrevalError(f"--no-resume: {out} is not empty. Give another --out.")
        return JudgeSettings(
            limit=self.limit,
            concurrency=self.concurrency,
            retries=self.retries,
            attempts=self.attempts,
            timeout=self.timeout,
            requests_per_minute=self.rpm,
            tokens_per_minute=self.tpm,
            image_fit=self.image_fit,
            prompts=self.prompts,
            price=options.parse_token_price(self.price),
            budget=options.parse_budget(self.budget),
            key_env=self.key_env,
            seed=self.seed,
            metric_models=metric_models or {},
        )


def build_command(function: Callable[..., None], without: Sequence[str] = ()) -> Callable[..., None]:
    """Decorate a command so that it also takes the options of `BuildFlags`. It receives them as `common`.

    Options named in `without` are not added and keep their defaults.
    """
    hints = get_type_hints(BuildFlags, include_extras=True)
    shared = {name: hint for name, hint in hints.items() if name not in without}
    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY)
        for name, parameter in signature(function, eval_str=True).parameters.items()
        if name != "common"
    ]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(BuildFlags, name), annotation=hint)
        for name, hint in shared.items()
    ]

    @wraps(function)
    def run(**given: Any) -> None:
        common = BuildFlags(**{name: given.pop(name) for name in shared})
        function(**given, common=common)

    # Typer reads options from the signature and the annotations.
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


class BuildOutput(NamedTuple):
    """Output of a build: whether the benchmark has samples, a table about it, further `facts` for JSON, and notes."""

    has_samples: bool
    table: CommandOutput | None
    facts: Mapping[str, Any] = {}
    notes: Sequence[str] = ()


def run_build(
    builder: Builder[T],
    common: BuildFlags,
    review: Callable[[Path], Review] | None,
    describe: Callable[[GenerationResult[T]], BuildOutput],
) -> None:
    """Print the estimate. Unless it is a dry run, build, print the results, and open the review or exit."""
    from creval.core.formatting import pluralise

    builder.title = common.name
    console.print_note(*builder.warnings())
    expected, of = builder.estimate(), (builder.item_count, builder.unit)
    if common.dry_run:
        estimate_output.print_estimates(
            expected, builder.settings.concurrency, common.json, of, left_out=builder.unusable
        )
        return
    console.print_note(f"{pluralise(*of)}: about {estimate_output.format_estimates(expected)}")
    with console.ProgressLine() as shown:
        result = builder.run(console.watch_calls(shown))
    output, out = describe(result), quote(str(builder.out))
    print_summary(result, builder, out)
    if common.json:
        found = output.table.as_json() if output.table else {}
        duplicates = builder.duplicates.as_record()
        console.print_json({**output.facts, **build_facts(result), **found, "duplicates": duplicates})
    elif output.table:
        console.print_output(output.table)
    console.print_note(*output.notes)
    console.exit_if_stopped(result.stopped, "written")
    if common.review and review and output.has_samples:
        from creval.web.review.app import serve_review

        serve_review(review(builder.out))
    elif output.has_samples:
        console.print_note(f"Now: creval bench {out}")
    console.exit_if_too_many_missing(result.share_left_out, common.max_left_out, "were left out")


def build_facts(summary: GenerationResult[Any]) -> dict[str, Any]:
    """Return the results of a build for JSON."""
    progress = summary.progress
    return {
        "left_out": summary.left_out,
        "calls": progress.calls_answered,
        "cached": progress.cached,
        "tokens_in": progress.tokens_in,
        "tokens_out": progress.tokens_out,
        "cost": progress.spent,
        "stopped": summary.stopped or None,
    }


def print_summary(summary: GenerationResult[Any], builder: Builder[Any], out: str) -> None:
    """Print what was left out and why, the summary of calls, and the numbers of results."""
    from creval.building.build_manifest import BUILD_RECORD
    from creval.core.formatting import pluralise

    progress = summary.progress
    console.print_note(*summary.notes)
    for name, reason in list(summary.left_out.items())[:MAX_REASONS]:
        console.print_note(f"{name} is left out: {reason}")
    if len(summary.left_out) > MAX_REASONS:
        console.print_note(f"... and {len(summary.left_out) - MAX_REASONS:,} more ({out}/{BUILD_RECORD})")
    console.print_note(*console.error_notes(progress), console.call_summary(progress, kept="text"))
    console.print_note(f"{pluralise(len(summary.results), builder.unit)} made, {len(summary.left_out):,} left out.")
