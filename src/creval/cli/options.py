"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from json import loads
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from creval.core.errors import CrevalError

if TYPE_CHECKING:
    from creval.analysis.scoring_options import ScoringOptions
    from creval.providers.pricing import Price as Dollars
    from creval.stats.elimination import StoppingRule
    from creval.store import Run


T = TypeVar("T")


def complete_names(kind: str) -> Callable[[str], list[str]]:
    """Return a function that completes the names in a registry in the shell, also after a comma."""

    def complete(incomplete: str) -> list[str]:
        from creval import registry

        before, comma, begun = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in getattr(registry, kind).names() if name.startswith(begun)]

    return complete


def spec(kind: str, text: str, metavar: str = "SPEC") -> Any:
    """Return an option whose value is a name in a registry, or a spec that begins with such a name."""
    return typer.Option(metavar=metavar, help=text, autocompletion=complete_names(kind))


RunFolder = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN...", help="The folder of a run. Give several runs or score files to compare them side by side."
    ),
]
Lower = Annotated[str | None, typer.Option(metavar="A,B", help="Metrics of score files for which lower is better.")]
Benchmark = Annotated[str, typer.Argument(metavar="BENCH", help="The folder of a benchmark.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, with unrounded values.")]
Strict = Annotated[
    bool,
    typer.Option(
        help="Score as the benchmark's authors do: unanswered counts as wrong, reference answers as released."
    ),
]
Subset = Annotated[str | None, typer.Option(metavar="NAME", help="Only the samples of this subset.")]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="METRIC=NUMBER,...|FILE|NAME",
        help="Weights of the metrics: as given, from a JSON file, or a named set.",
    ),
]
Models = Annotated[str | None, typer.Option(metavar="A,B", help="Only these models, joined by commas.")]
Groups = Annotated[
    str | None,
    typer.Option(metavar="open=A,B,closed=C", help="Show the means, gaps and best models of these groups of models."),
]
Missing = Annotated[
    str | None,
    typer.Option(
        metavar="exclude|zero", help="Exclude samples without an edit (the default), or count them as failed."
    ),
]
CommonSamples = Annotated[bool, typer.Option("--common-samples", help="Only samples that all models have a score for.")]
Resamples = Annotated[int, typer.Option(min=100, max=1_000_000, help="Number of bootstrap resamples.")]
UntilDecided = Annotated[
    str | None, typer.Option(metavar="best|ranking", help="Stop when the best model, or the whole ranking, is decided.")
]
Alpha = Annotated[float, typer.Option(metavar="RISK", help="With --until-decided: risk of a wrong decision.")]
Margin = Annotated[
    float,
    typer.Option(metavar="POINTS", help="With --until-decided: models that differ by at most this count as equal."),
]
Scale = Annotated[str | None, typer.Option(metavar="1-5", help="Scale of ratings that do not state one.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Address to listen on; if not loopback, pages open only with the printed link."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")]
Token = Annotated[bool, typer.Option("--token", help="Also on loopback, require the printed link with its token.")]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open a browser on this machine.")]
Attempts = Annotated[int, typer.Option(min=1, help="Tries per call before giving up.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Timeout of a call in seconds.")]
Rpm = Annotated[float | None, typer.Option(min=0.01, help="Limit of requests per minute.")]
Tpm = Annotated[float | None, typer.Option(min=1, help="Limit of tokens per minute.")]
ImageFit = Annotated[str, typer.Option(metavar="provider|original|PIXELS", help="Size of the images that are sent.")]
Prompts = Annotated[str | None, typer.Option(metavar="DIR", help="Folder of your own prompts (creval prompts).")]
Price = Annotated[
    str | None, typer.Option(metavar="IN,OUT", help="Price in US dollars per million input and output tokens.")
]
KeyEnv = Annotated[str | None, typer.Option(metavar="NAME", help="Environment variable with the API key.")]
KeepOld = Annotated[
    bool,
    typer.Option(
        "--keep-old", help="If the code or model of a judge, editor or metric has changed, keep its older results."
    ),
]
Redo = Annotated[
    bool,
    typer.Option(
        "--redo", help="If the code or model of a judge, editor or metric has changed, discard and redo its results."
    ),
]
Label = Annotated[
    list[str] | None, typer.Option(metavar="NAME=SHOWN", help="Display name of a model from now on; empty removes it.")
]
Published = Annotated[
    bool, typer.Option("--published", help="Also show the numbers that the benchmark's paper published.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the estimated costs, then exit.")]


def scoring(
    strict: bool,
    subset: str | None,
    weights: str | None,
    models: str | None,
    missing: str | None,
    common_samples: bool,
    resamples: int,
    seed: int,
) -> ScoringOptions:
    """Return scoring options in the form of the API."""
    return {
        "strict": strict,
        "subset": subset,
        "weights": weights,
        "models": parse_names(models, "--models"),
        "resamples": resamples,
        "seed": seed,
        "missing": missing,
        "common_samples": common_samples,
    }


def single_run(sources: Sequence[str], metrics: str | None = None) -> str | None:
    """Return the run's folder if a command was given exactly one run and no --metrics.

    Return None for several runs, a score file, or one run with --metrics: these are shown side by side.
    """
    from creval.analysis.score_sources import is_score_file

    return sources[0] if len(sources) == 1 and metrics is None and not is_score_file(sources[0]) else None


def refuse_for_several(**given: object) -> None:
    """Raise an error if options were given that need a single run."""
    for name, value in given.items():
        if value not in (None, False, [], ()):
            raise CrevalError(
                f"--{name.replace('_', '-')} needs a single run: omit it for several runs or score files."
            )


def keep_labels(run: str, given: Sequence[str] | None) -> None:
    """Save the labels of --label with a run."""
    if labels := parse_labels(given):
        from creval.api.run_changes import label

        label(run, labels)


def parse_labels(given: Sequence[str] | None) -> dict[str, str]:
    """Parse `NAME=SHOWN` into labels by name."""
    labels = {}
    for part in given or ():
        name, equals, shown = part.partition("=")
        if not equals or not name.strip():
            raise CrevalError(f'--label takes NAME="SHOWN", not {part!r}.')
        labels[name.strip()] = shown.strip()
    return labels


def open_for_output(run: str, given: Sequence[str] | None, json: bool = False) -> Run:
    """Save new labels, and open a run that shows models under their labels. JSON keeps the names."""
    from creval.store import open_run

    keep_labels(run, given)
    return open_run(run, labels=not json)


def with_shown_names(run: str, by_model: Mapping[str, T]) -> dict[str, T]:
    """Return a mapping by model with the models' labels as keys."""
    from creval.store import open_run

    with open_run(run, labels=True) as opened:
        return {opened.resolve_model(name): value for name, value in by_model.items()}


def parse_stopping_rule(question: str | None, alpha: float, margin: float) -> StoppingRule | None:
    """Return the stopping rule, or None without --until-decided."""
    if question is None:
        if (alpha, margin) != (0.05, 0.0):
            raise CrevalError("--alpha and --margin require --until-decided best or ranking.")
        return None
    from creval.stats.elimination import StoppingRule

    return StoppingRule(question, alpha, margin)


def parse_groups(given: str | None) -> dict[str, list[str]]:
    """Parse `open=A,B,closed=C` into names by group."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for part in (given or "").split(","):
        name, equals, first = part.partition("=")
        if equals:
            current = found.setdefault(name.strip(), [])
            part = first
        if part.strip():
            if current is None:
                raise CrevalError(f"--groups takes open=A,B,closed=C, but {part!r} follows no group name.")
            current.append(part.strip())
    named = [name for members in found.values() for name in members]
    if len(set(named)) < len(named) or not all(found.values()) or "" in found:
        raise CrevalError("--groups takes open=A,B,closed=C: name every group, and each model only once.")
    return found


def parse_names(given: str | None, option: str) -> tuple[str, ...] | None:
    """Parse `A,B` into distinct names."""
    if given is None:
        return None
    found = tuple(dict.fromkeys(part.strip() for part in given.split(",") if part.strip()))
    if not found:
        raise CrevalError(f"{option} is empty: give at least one name.")
    return found


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Parse parameters such as `top_p=0.1`. A value that is not JSON is a string."""
    found: dict[str, Any] = {}
    for part in given:
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise CrevalError(f"--set takes KEY=VALUE, such as top_p=0.1, not {part!r}.")
        try:
            found[name.strip()] = loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def parse_metric_models(given: Sequence[str]) -> dict[str, str]:
    """Parse models such as `clip=ORG/MODEL`."""
    found = {}
    for part in given:
        use, equals, model = part.partition("=")
        if not equals or not model.strip():
            raise CrevalError(f"--metric-model takes USE=MODEL, such as clip=ORG/MODEL, not {part!r}.")
        found[use.strip()] = model.strip()
    return found


def parse_token_price(given: str | None) -> Dollars | None:
    """Parse `2.5,10` into prices per million input and output tokens."""
    from creval.providers.pricing import Price as Dollars

    if given is None:
        return None
    try:
        prices = [float(part) for part in given.split(",")]
        if len(prices) == 2 and all(0 <= price < 1e6 for price in prices):
            return Dollars(*prices)
    except ValueError:
        pass
    raise CrevalError(f"--price takes two numbers such as 2.5,10, not {given!r}.")


def parse_budget(given: str | None) -> float | None:
    """Parse an amount such as `5USD`."""
    if given is None:
        return None
    match = re.fullmatch(r"\$?\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:USD|\$)?", given.strip(), re.I)
    if match is None:
        raise CrevalError(f"--budget takes US dollars, such as 5USD, not {given!r}.")
    return float(match[1])


def parse_share(given: str) -> float:
    """Parse the percentage of --max-unanswered into a share."""
    try:
        share = float(given.strip().removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise CrevalError(f"--max-unanswered takes a percentage such as 0.5, not {given!r}.")
    return share
