"""`creval agree`: how far judges, or repeats, agree."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import options, screen
from creval.core.card import Digits

if TYPE_CHECKING:
    from creval.stats.agreement import Agreement
    from creval.stats.answers import AnswerTable

_WHOLE = "all"
_DIGITS = Digits(3, 3)


def agree(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs of the same benchmark, or one.")
    ],
    by: Annotated[
        str | None, typer.Option(metavar="LEVEL", help="Also by group: category, dimension ...")
    ] = None,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Say how far the judges and repeats of some runs agree with each other."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.report.sentences import agreed
    from creval.report.text import value, visible
    from creval.stats.answers import gather
    from creval.store import open_run

    with ExitStack() as stack:
        opened = [stack.enter_context(open_run(run)) for run in runs]
        table = gather(opened)
        levels = {level.name: level for run in opened for level in run.levels if level.tagged}
    found = _by_group(table, by, levels, resamples, seed)
    whole = next(iter(found.values()))
    if json:
        screen.print_json(
            {
                "voices": list(table.voices),
                "unlike": table.unlike,
                "groups": [
                    {"metric": metric, "group": group, **one._asdict()}
                    for (metric, group), one in found.items()
                ],
            }
        )
        return
    out = screen.console()
    out.print(agreed(table.voices, whole))
    columns = ("metric", "group", "questions", "percent", "Cohen", "Fleiss", "alpha")
    made = Table(*columns, box=SIMPLE_HEAD, pad_edge=False)
    for column in made.columns[2:]:
        column.justify = "right"
    for (metric, group), one in found.items():
        made.add_row(
            Text(visible(metric)), Text(visible(group)), f"{one.items:,}",
            f"{value(one.percent)}{_ends(one.percent_ends, 1)}", value(one.cohen, _DIGITS),
            value(one.fleiss, _DIGITS), f"{value(one.alpha, _DIGITS)}{_ends(one.alpha_ends, 3)}",
        )  # fmt: skip
    out.print(made)
    screen.note(
        "percent: pairs of answers that are the same; Cohen: the mean over pairs of voices; "
        "Fleiss: over questions that all answered; alpha: Krippendorff's, "
        f"{_scale(table)}; in brackets 95 % intervals over samples."
    )
    if table.unlike:
        screen.note(f"{table.unlike:,} questions are worded differently and left out.")


def _by_group(
    table: AnswerTable, by: str | None, levels: dict[str, Any], resamples: int, seed: int
) -> dict[tuple[str, str], Agreement]:
    """Agreement over everything, by metric, and by metric and group."""
    import numpy as np

    from creval.core.errors import known_name
    from creval.stats.agreement import agreement

    if by is not None:
        known_name("level", by, levels)
    names = {name: at for at, name in enumerate(dict.fromkeys(i.edit.sample for i in table.items))}

    def measured(chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Agreement:
        some = table.of(chosen)
        units = np.array([names[item.edit.sample] for item in some.items])
        return agreement(some.values, _scale(some), units, resamples, seed)

    metrics = np.array([item.question.metric for item in table.items])
    found = {}
    if len(np.unique(metrics)) > 1:
        found[_WHOLE, ""] = measured(np.ones(len(table.items), dtype=np.bool_))
    for metric in dict.fromkeys(metrics.tolist()):
        found[metric, ""] = measured(metrics == metric)
        if by is None:
            continue
        for group in levels[by].groups:
            inside = np.array([item.tags.get(by) == group for item in table.items])
            if (inside & (metrics == metric)).any():
                found[metric, group] = measured(inside & (metrics == metric))
    return found


def _scale(table: AnswerTable) -> str:
    """Yes and no are names, numbers are nearer to some than to others."""
    yes_no = all(item.question.contract in ("yes/no", "1/0") for item in table.items)
    return "nominal" if yes_no else "interval"


def _ends(ends: tuple[float | None, float | None], digits: int) -> str:
    low, high = ends
    return "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
