"""`creval compare`: two models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from creval.cli import options, screen

if TYPE_CHECKING:
    from rich.table import Table

    from creval.stats.compare import Comparison, SampleGap


def compare(
    run: options.RunFolder,
    first: Annotated[str, typer.Argument(metavar="A", help="A model of the run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    subset: options.Subset = None,
    strict: options.Strict = False,
    weights: options.Weights = None,
    top: Annotated[int, typer.Option(min=0, help="How many samples to show.")] = 5,
    json: options.Json = False,
    resamples: options.Resamples = 2_000,
    seed: options.Seed = 0,
) -> None:
    """Compare two models on the samples that both have: by how much they differ, and where."""
    from creval.core.errors import CrevalError
    from creval.report.sentences import compared
    from creval.stats.compare import compare as compared_runs
    from creval.store import open_run

    if first == second:
        raise CrevalError(f"{first!r} is given twice; give two models.")
    with open_run(run) as opened:
        found = compared_runs(
            opened,
            first,
            second,
            strict=strict,
            subset=subset,
            weights=options.weights(weights),
            resamples=resamples,
            seed=seed,
            top=top,
        )
    if json:
        screen.print_json(_as_json(found))
        return
    out = screen.console()
    out.print(compared(found))
    out.print(_table(found))
    for gap in found.samples:
        _print_gap(found, gap)


def _table(found: Comparison) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from creval.report.text import difference, visible

    first, second = found.table.systems
    title = Text(f"{visible(first)} minus {visible(second)}; bold where zero is left out")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("group", overflow="fold")
    card = found.table.card
    there = {column for (_, _, column), cell in found.differences.items() if cell.value is not None}
    columns = [column for column in card.columns if column in there]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for level in card.levels:
        for group in level.groups:
            row = []
            for column in columns:
                cell = found.differences[level.name, group, column]
                words = difference(cell, card.metric(column).digits).replace(" ", "\n", 1)
                row.append(Text(words, "bold" if cell.decided else "dim"))
            if any(cell.plain != "–" for cell in row):
                table.add_row(Text(visible(group)), *row)
        table.add_section()
    return table


def _print_gap(found: Comparison, gap: SampleGap) -> None:
    from rich.text import Text

    from creval.report.text import visible

    out = screen.console()
    rank = found.table.card.ranking
    first, second = found.table.systems
    scores = " against ".join(f"{found[rank] or 0:.3g}" for found in (gap.first, gap.second))
    out.print(Text(f"\n{visible(gap.sample)}: {rank} {scores}", "bold"))
    out.print(Text(f"  {visible(gap.instruction)}", "dim"))
    for question in gap.questions[:3]:
        # The first of several answers may say something else than all of them together.
        said = " / ".join(
            visible(answer.said) or "–" if answer.value == value else f"{value:.3g}"
            for answer, value in zip(question.answers, question.values, strict=True)
        )
        asked = question.question
        out.print(Text(f"  {asked.id}, weight {asked.weight:g}: {visible(asked.text)}"))
        out.print(Text(f"    {visible(first)} / {visible(second)}: {said}", "dim"))
    if len(gap.questions) > 3:
        out.print(Text(f"  and {len(gap.questions) - 3} more questions", "dim"))


def _as_json(found: Comparison) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for (level, group, column), value in found.differences.items():
        plural = found.table.card.level(level).plural
        cell = {**value._asdict(), "decided": value.decided}
        levels.setdefault(plural, {}).setdefault(group, {})[column] = cell
    return {
        "first": found.table.systems[0],
        "second": found.table.systems[1],
        "strict": found.table.strict,
        "subset": found.table.subset,
        "differences": {**levels, "overall": levels["overall"]["overall"]},
        "samples": [
            {
                "sample": gap.sample,
                "instruction": gap.instruction,
                "first": gap.first,
                "second": gap.second,
                "questions": [
                    {
                        "id": question.question.id,
                        "metric": question.question.metric,
                        "question": question.question.text,
                        "weight": question.question.weight,
                        "reference": question.question.reference,
                        "winner": question.winner,
                        "values": list(question.values),
                        "answers": [answer.said for answer in question.answers],
                        "explanations": [answer.explanation for answer in question.answers],
                    }
                    for question in gap.questions
                ],
            }
            for gap in found.samples
        ],
    }
