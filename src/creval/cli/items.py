"""`creval items`: the questions of a run, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from creval.cli import options, screen

if TYPE_CHECKING:
    from creval.stats.items import ItemStatistics


def items(
    run: options.RunFolder,
    subset: options.Subset = None,
    top: Annotated[int, typer.Option(min=0, help="How many questions to list.")] = 20,
    json: options.Json = False,
) -> None:
    """Say how hard each question is, what it tells, and which are worth rewriting."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.report.sentences import questioned
    from creval.report.text import visible
    from creval.stats.items import item_statistics
    from creval.store import open_run

    with open_run(run) as opened:
        found = item_statistics(opened, subset)
    if json:
        screen.print_json([_as_json(item) for item in found])
        return
    out = screen.console()
    out.print(questioned(found))
    by_metric = Table(
        "metric", "questions", "passed", "all pass", "all fail", "tells", "worth a look",
        box=SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    for column in by_metric.columns[1:]:
        column.justify = "right"
    for metric in dict.fromkeys(item.question.metric for item in found):
        here = [item for item in found if item.question.metric == metric]
        passed = [item.credit for item in here if item.credit is not None]
        tells = [item.tells for item in here if item.tells is not None]
        by_metric.add_row(
            Text(visible(metric)),
            f"{len(here):,}",
            f"{100 * sum(passed) / len(passed):.1f} %" if passed else "–",
            f"{sum(credit == 1 for credit in passed):,}",
            f"{sum(credit == 0 for credit in passed):,}",
            f"{sum(tells) / len(tells):+.2f}" if tells else "–",
            f"{sum(bool(item.faults) for item in here):,}",
        )
    out.print(by_metric)
    faulty = sorted((item for item in found if item.faults), key=_urgency)
    for item in faulty[:top]:
        where = f"{item.sample} {item.question.id}, weight {item.question.weight:g}"
        out.print(Text(visible(f"{where}: {'; '.join(item.faults)}"), "bold"))
        out.print(Text(visible(f"  {item.question.text or '(no words)'}"), "dim"))
    if len(faulty) > top:
        screen.note(f"... and {len(faulty) - top:,} more: --top N, or --json for all.")
    screen.note(
        "passed: the mean credit over models; tells: the correlation, over models, of a question's "
        "credit with the model's score. A question that all pass or fail tells nothing apart; "
        "that need not be its fault."
    )


_ORDER = (
    "it has no words",
    "its reference cannot be read",
    "most answers to it cannot be used",
    "judges or repeats mostly dispute it",
    "better models fail it more often",
    "every model fails it",
    "every model passes it",
)


def _urgency(item: ItemStatistics) -> tuple[int, float, str, str]:
    """The most certain faults first, then those that weigh most."""
    first = min(_ORDER.index(fault) for fault in item.faults)
    return first, -item.question.weight, item.sample, item.question.id


def _as_json(item: ItemStatistics) -> dict[str, object]:
    return {
        "sample": item.sample,
        "id": item.question.id,
        "metric": item.question.metric,
        "question": item.question.text,
        "reference": item.question.reference,
        "weight": item.question.weight,
        "credit": item.credit,
        "models": item.systems,
        "tells": item.tells,
        "unanswered": {"count": item.unanswered.found, "of": item.unanswered.total},
        "disputed": {"count": item.disputed.found, "of": item.disputed.total},
        "faults": list(item.faults),
    }
