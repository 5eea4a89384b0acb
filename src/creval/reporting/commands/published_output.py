"""Published numbers of the benchmarks: an overview, and selected values."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence

from creval.core.formatting import pluralise
from creval.core.published_numbers import Publication, PublishedValue
from creval.reporting.output import CommandOutput, OutputTable, Row


def overview_output(known: Mapping[str, Publication]) -> CommandOutput:
    """List the benchmarks with published numbers."""
    rows: list[Row] = [
        [name, f"{of.paper}, arXiv {of.arxiv}", str(len(of.tables)), str(len(of.models)), f"{len(of.values):,}"]
        for name, of in known.items()
    ]
    table = OutputTable(["benchmark", "paper", "tables", "models", "values"], rows, text_columns=2)
    data = {
        name: {
            "paper": of.paper,
            "arxiv": of.arxiv,
            "tables": list(of.tables),
            "models": list(of.models),
            "values": len(of.values),
        }
        for name, of in known.items()
    }
    return CommandOutput([], [table], {"benchmarks": data})


def publication_output(
    publication: Publication, values: Sequence[PublishedValue], *, with_values: bool
) -> CommandOutput:
    """Show a paper's tables, models and notes or, with `with_values`, the selected values."""
    sentence = f"{publication.citation}: {pluralise(len(values), 'published value')}, not measured here."
    notes = [f"{of.where}: {of.note}" for of in publication.notes]
    grids = list(_value_tables(publication, values)) if with_values else _overview_tables(publication)
    data = {
        "benchmark": publication.benchmark,
        "paper": publication.paper,
        "arxiv": publication.arxiv,
        "tables": {name: table._asdict() for name, table in publication.tables.items()},
        "models": {
            name: {"group": model.group, "names": list(model.names), **model.facts}
            for name, model in publication.models.items()
        },
        "notes": [note._asdict() for note in publication.notes],
        "values": published_records(publication, values),
    }
    return CommandOutput([sentence], grids, data, notes)


def published_records(publication: Publication, values: Sequence[PublishedValue]) -> list[dict[str, object]]:
    """Return values as records, each with its benchmark and page."""
    return [
        {
            "benchmark": publication.benchmark,
            **{name: field for name, field in value._asdict().items() if name != "text"},
            "value": value.value,
            "page": publication.tables[value.table].page,
        }
        for value in values
    ]


def published_values_csv(publication: Publication, values: Sequence[PublishedValue]) -> str:
    """Return values as CSV, as printed in the paper."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    fields = [name for name in PublishedValue._fields if name != "text"]
    writer.writerow(["benchmark", *fields, "value", "page"])
    for value in values:
        page = publication.tables[value.table].page
        writer.writerow([publication.benchmark, *value, "" if page is None else page])
    return out.getvalue()


def _overview_tables(publication: Publication) -> list[OutputTable]:
    tables: list[Row] = [
        [
            name,
            table.about,
            table.place + (f", page {table.page}" if table.page is not None else ""),
            str(sum(value.table == name for value in publication.values)),
        ]
        for name, table in publication.tables.items()
    ]
    facts = list(dict.fromkeys(fact for model in publication.models.values() for fact in model.facts))
    models: list[Row] = [
        [name, model.group, ", ".join(model.names), *(model.facts.get(fact, "") for fact in facts)]
        for name, model in publication.models.items()
    ]
    return [
        OutputTable(["table", "content", "place", "values"], tables, text_columns=3),
        OutputTable(["model", "group", "also known as", *facts], models, text_columns=3 + len(facts)),
    ]


def _value_tables(publication: Publication, values: Sequence[PublishedValue]) -> Iterator[OutputTable]:
    """Yield the values by table, subset and group; a table with one metric has its groups as columns."""
    for table in publication.tables:
        of_table = [value for value in values if value.table == table]
        for subset in dict.fromkeys(value.subset for value in of_table):
            here = [value for value in of_table if value.subset == subset]
            title = f"{table}, {publication.tables[table].about}" + (f" ({subset})" if subset else "")
            if len({(value.metric, value.judge) for value in here}) == 1:
                yield _value_table(f"{title}: {here[0].metric}", here, lambda value: value.group)
                continue
            several = any(
                len({value.judge for value in here if value.metric == metric}) > 1
                for metric in {value.metric for value in here}
            )
            for group in dict.fromkeys(value.group for value in here):
                of_group = [value for value in here if value.group == group]
                yield _value_table(
                    f"{title}: {group}" if group else title,
                    of_group,
                    _metric_and_judge if several else lambda value: value.metric,
                )


def _value_table(
    title: str, values: Sequence[PublishedValue], column_of: Callable[[PublishedValue], str]
) -> OutputTable:
    """Return the values with a row per model or variant."""
    columns = list(dict.fromkeys(column_of(value) for value in values))
    cells = {(_row_name(value), column_of(value)): value.text for value in values}
    names = dict.fromkeys(_row_name(value) for value in values)
    rows: list[Row] = [[name, *(cells.get((name, column), "–") for column in columns)] for name in names]
    return OutputTable(["model" if values[0].model else "variant", *columns], rows, title)


def _metric_and_judge(value: PublishedValue) -> str:
    return f"{value.metric}\n{value.judge}" if value.judge else value.metric


def _row_name(value: PublishedValue) -> str:
    return f"{value.model}, {value.variant}" if value.model and value.variant else value.model or value.variant
