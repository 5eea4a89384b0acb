"""Numbers that a benchmark's authors published: values, tables, models, and notes on contradictions."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from creval.core.errors import CrevalError, unknown_name_error
from creval.core.files import read_json, read_text

_WORDS = re.compile(r"[a-z]+|[0-9]+")
_FOLDER_WORDS = frozenset({"edits", "generated", "output", "outputs", "result", "results"})
"""Words that names of folders of edits add to a model's name."""
_COLUMNS = ("table", "model", "judge", "variant", "subset", "level", "group", "metric", "value")


class PublishedValue(NamedTuple):
    """A cell of a published table. Levels, groups and metrics have creval's names where creval has them.

    `text` is the number as printed. `variant` is a way of scoring, or the opponent in a comparison. `judge` is empty if
    no judge is involved, for example if the value was measured.
    """

    table: str
    model: str
    judge: str
    variant: str
    subset: str
    level: str
    group: str
    metric: str
    text: str

    @property
    def value(self) -> float:
        return float(self.text)


class PublishedTable(NamedTuple):
    """A table of a paper. `page` is None if unknown.

    `beside_scores`: creval computes the table's metrics, so its numbers can be shown next to scores.
    """

    about: str
    place: str
    page: int | None
    beside_scores: bool


class PublishedModel(NamedTuple):
    """A model in a paper: its group (open, closed), other names, and facts such as the tasks that it supports."""

    group: str = ""
    names: tuple[str, ...] = ()
    facts: Mapping[str, str] = {}


class PublishedNote(NamedTuple):
    """A note on a place in a paper: where it contradicts itself, or what a reader of its numbers must know."""

    where: str
    note: str


@dataclass(frozen=True)
class Publication:
    """The published numbers of a benchmark."""

    benchmark: str
    paper: str
    arxiv: str
    tables: Mapping[str, PublishedTable]
    models: Mapping[str, PublishedModel]
    notes: tuple[PublishedNote, ...]
    values: tuple[PublishedValue, ...]

    @property
    def citation(self) -> str:
        return f"{self.paper}, arXiv {self.arxiv}"

    def select(
        self, tables: Collection[str] | None = None, models: Iterable[str] | None = None, metrics: Iterable[str] = ()
    ) -> tuple[PublishedValue, ...]:
        """Return the values of some tables, models and metrics. Names may differ in case and punctuation."""
        wanted = None if tables is None else {self.find_table(name) for name in tables}
        named = None if models is None else {self._require_model(name) for name in models}
        columns = {self._find_metric(name) for name in metrics}
        return tuple(
            value
            for value in self.values
            if (wanted is None or value.table in wanted)
            and (named is None or value.model in named)
            and (not columns or value.metric in columns)
        )

    def find_table(self, name: str) -> str:
        """Return a table by its name, with or without the word Table: `2`, `S1`, `supplement 3`."""
        short = _short_table_name(name)
        found = [table for table in self.tables if _short_table_name(table) == short]
        if not found:
            raise unknown_name_error("published table", name, self.tables)
        return found[0]

    def find_model(self, *names: str) -> str | None:
        """Return the published model that one of these names stands for, or None. The first name that matches counts.

        >>> Publication("x", "", "", {}, {"FLUX.1 Kontext [dev]": PublishedModel()}, (), ()).find_model(
        ...     "outputs_flux.1-kontext-dev")
        'FLUX.1 Kontext [dev]'
        """
        known = {own: _name_forms(own, *model.names) for own, model in self.models.items()}
        for name in names:
            forms = _name_forms(name)
            found = [own for own, theirs in known.items() if forms & theirs]
            if len(found) == 1:
                return found.pop()
        return None

    def _require_model(self, name: str) -> str:
        found = self.find_model(name)
        if found is not None:
            return found
        others = sorted({value.model for value in self.values} - {"", *self.models})  # such as an average
        for other in others:
            if other.casefold() == name.casefold():
                return other
        raise unknown_name_error("published model", name, [*self.models, *others])

    def _find_metric(self, name: str) -> str:
        metrics = dict.fromkeys(value.metric for value in self.values)
        found = next((metric for metric in metrics if metric.casefold() == name.casefold()), None)
        if found is None:
            raise unknown_name_error("published metric", name, metrics)
        return found


def _short_table_name(name: str) -> str:
    return "".join(_WORDS.findall(re.sub(r"table|section", "", name.casefold())))


def _name_forms(*names: str) -> set[str]:
    """Return the forms in which names are compared: their words in any order, and all words as one."""
    found = set()
    for name in names:
        for part in (name, re.split(r"[/:@]", name)[-1]):
            words = [word for word in _WORDS.findall(part.casefold()) if word not in _FOLDER_WORDS]
            plus = "+" if "+" in part else ""  # a strategy, as in OmniGen+sequential, makes another model
            if words:
                found |= {" ".join(sorted({*words})) + plus, "".join(words) + plus}
    return found


@cache
def read_publication(benchmark: str, path: Path) -> Publication:
    """Read `published.json` (paper, tables, models, notes) and the values in the CSV file next to it."""
    try:
        content = read_json(path)
        rows = csv.DictReader(read_text(path.with_suffix(".csv")).splitlines())
        return Publication(
            benchmark,
            content["paper"],
            content["arxiv"],
            {name: PublishedTable(**table) for name, table in content["tables"].items()},
            {
                name: PublishedModel(model.get("group", ""), tuple(model.get("names", ())), model.get("facts", {}))
                for name, model in content["models"].items()
            },
            tuple(PublishedNote(**note) for note in content["notes"]),
            tuple(PublishedValue(*(row[name] for name in _COLUMNS)) for row in rows),
        )
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise CrevalError(f"the published numbers in {path} cannot be read: {error!r}.") from error
