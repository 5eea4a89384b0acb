"""Published numbers next to a run's scores: tables, sentences, CSV and JSON. They are always marked as published."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from creval.analysis.published_scores import PublishedScores, PublishedSeries
from creval.core.formatting import escape_control, format_value, pluralise
from creval.reporting.output import OutputTable, Row, TableCell
from creval.reporting.sentences import join_names
from creval.reporting.tables import SampleGroups, columns_with_data
from creval.stats.scorecard import SAMPLE_LEVEL, Scorecard

MARK = "published, not measured here"


def published_tables(found: PublishedScores, card: Scorecard, groups: SampleGroups) -> Iterator[OutputTable]:
    """Yield a table per group: the published values in the paper's order, with the run's own value below."""
    for level, group in groups:
        series = found.in_groups([(level, group)])
        columns = [c for c in columns_with_data(card, [(level, group)]) if level != SAMPLE_LEVEL]
        columns = [c for c in columns if any((level, group, c) in one.values for one in series)]
        if not series or not columns:
            continue
        title = "" if level == "overall" else f": {card.table.schema.group_title(level, group)}"
        rows: list[Row] = [
            [
                _series_name(one, found),
                ", ".join(map(escape_control, one.own)) or "–",
                *(_cell(one, card, (level, group, column)) for column in columns),
            ]
            for one in series
            if any((level, group, column) in one.values for column in columns)
        ]
        yield OutputTable(
            ["published model", "here", *columns], rows, f"{MARK[0].upper()}{MARK[1:]}{title}", text_columns=2
        )


def _series_name(one: PublishedSeries, found: PublishedScores) -> str:
    """Return the label of a published model, with the judge and the subset if there are several."""
    several = len({other.judge for other in found.series if other.judge}) > 1
    more = [*([one.judge] if several and one.judge else []), *([one.subset] if len(found.subsets) > 1 else [])]
    return one.model + (f" ({', '.join(more)})" if more else "")


def _cell(one: PublishedSeries, card: Scorecard, place: tuple[str, str, str]) -> str | TableCell:
    level, group, column = place
    if place not in one.values:
        return "–"
    digits = card.table.schema.find_metric(column).digits
    own = [card.cell(name, column, group, level).value for name in one.own]
    here = ", ".join(format_value(value, digits) for value in own if value is not None)
    return TableCell(one.values[place].text, f"here {here}" if here else "")


def published_sentences(found: PublishedScores, card: Scorecard, judge: str) -> list[str]:
    """Say where published numbers come from, which models were matched, and what limits a comparison with them."""
    publication = found.publication
    tables = join_names(list(dict.fromkeys(table for one in found.series for table in one.tables)))
    judges = [name for name in dict.fromkeys(one.judge for one in found.series) if name]
    by = f", judged by {join_names(judges)}" if judges else ""
    sentences = [
        f"Published numbers: {publication.citation}, {tables}{by}. They were not measured here and have no intervals. "
        "They are listed in the paper's order, and take no part in rankings and tests."
    ]
    same = [f"{escape_control(own)} as {published}" for own, published in found.matched.items()]
    absent = [escape_control(name) for name in card.models if name not in found.matched]
    if same:
        sentences.append(f"Matched by name: {', '.join(same)}.")
    if absent:
        sentences.append(
            f"Not found among the published models: {', '.join(absent)}. If one was published under another name, give "
            "it that name with `label`."
        )
    if found.subsets and card.table.subset not in found.subsets:
        of = join_names(list(found.subsets))
        sentences.append(f"The published numbers are of the subset {of}, but this table is not. Use `subset`.")
    own = f" This run's judge is {escape_control(judge)}." if judge else ""
    sentences.append(
        f"The paper's edits, prompts and judge may differ from those of this run.{own} "
        f"`creval published {publication.benchmark}` lists all tables and "
        f"{pluralise(len(publication.notes), 'note')} on contradictions."
    )
    return sentences


def published_json(found: PublishedScores, card: Scorecard, groups: SampleGroups) -> dict[str, Any]:
    """Return the published numbers of some groups of samples, with the run's own values."""
    cells = []
    for one in found.in_groups(groups):
        for (level, group, column), value in one.values.items():
            if (level, group) in groups:
                own = {name: card.cell(name, column, group, level).value for name in one.own}
                cells.append({**value_json(value, found), "here": own})
    publication = found.publication
    source = {"paper": publication.paper, "arxiv": publication.arxiv}
    return {"published": {**source, "matched": dict(found.matched), "cells": cells}}


def value_json(value: Any, found: PublishedScores) -> dict[str, Any]:
    """Return a published value as a record, with its table's page."""
    record = {name: text for name, text in value._asdict().items() if name != "text"}
    return {**record, "value": value.value, "page": found.publication.tables[value.table].page}


def published_csv(found: PublishedScores, groups: SampleGroups, table: str) -> str:
    """Add the published numbers to a CSV table of scores, as further rows.

    A new column `source` says for each row whether it is of this run or published.
    """
    lines = list(csv.reader(io.StringIO(table)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head, *rows = lines
    writer.writerow([*head, "source"])
    writer.writerows([*row, "this run"] for row in rows)
    for one in found.in_groups(groups):
        for (level, group, column), value in one.values.items():
            if (level, group) in groups:
                by = f", judge {value.judge}" if value.judge else ""
                of = f", subset {value.subset}" if value.subset else ""
                source = f"published: {found.publication.citation}, {value.table}{by}{of}"
                cells = [level, group, one.model, column, value.value]
                writer.writerow([*cells, *([""] * (len(head) - len(cells))), source])
    return out.getvalue()
