"""Published numbers to show beside a run's scores, matched by model, group and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from creval import registry
from creval.core.errors import CrevalError
from creval.core.published_numbers import Publication, PublishedValue, read_publication
from creval.stats.scorecard import Scorecard
from creval.store.run import LABELS_KEY, Run

Place = tuple[str, str, str]
"""The level, group and metric of a cell."""


@dataclass(frozen=True)
class PublishedSeries:
    """The published numbers of one model by one judge. `own` are the run's models with a matching name."""

    model: str
    judge: str
    subset: str
    own: tuple[str, ...]
    values: Mapping[Place, PublishedValue]

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value.table for value in self.values.values()))


@dataclass(frozen=True)
class PublishedScores:
    """Published numbers comparable with a run's scores. `matched` maps the run's models to published ones.

    `subsets` are the subsets with published numbers. It is empty if the numbers are of the whole benchmark. `judge` is
    the published judge that is also the run's judge, otherwise the first published one. It is empty if the numbers
    come from no judge.
    """

    publication: Publication
    series: tuple[PublishedSeries, ...]
    matched: Mapping[str, str]
    subsets: tuple[str, ...]
    judge: str = ""

    def in_groups(self, groups: Sequence[tuple[str, str]]) -> list[PublishedSeries]:
        """Return the series with a value in one of these groups (pairs of a level and a group)."""
        return [one for one in self.series if any(place[:2] in groups for place in one.values)]


def publications() -> dict[str, Publication]:
    """Return published numbers by benchmark. Benchmarks without any are left out."""
    formats = {name: registry.benchmarks.get(name) for name in registry.benchmarks.names()}
    return {name: read_publication(name, of.published) for name, of in formats.items() if of.published is not None}


def find_published_scores(run: Run, card: Scorecard) -> PublishedScores:
    """Return the published numbers for a scorecard. Raises `CrevalError` if there are none.

    If the scorecard is of a subset that has published numbers, only the numbers of this subset are returned.
    """
    name, protocol = run.manifest["benchmark"], run.manifest.get("protocol", run.manifest["benchmark"])
    known = publications()
    if protocol != name or name not in known:
        asked = name if protocol == name else f"{name} with the protocol {protocol}"
        raise CrevalError(f"no numbers are published for {asked}, only for {', '.join(known)}.")
    publication = known[name]
    places = {(level.name, group) for level in card.table.schema.levels for group in level.groups}
    columns = card.table.schema.columns
    values = [
        value
        for value in publication.values
        if publication.tables[value.table].beside_scores
        and value.model in publication.models
        and value.metric in columns
        and (value.level, value.group) in places
    ]
    subsets = tuple(dict.fromkeys(value.subset for value in values if value.subset))
    if card.table.subset in subsets:
        subsets = (str(card.table.subset),)
        values = [value for value in values if value.subset in subsets]
    matched = {}
    for own in card.models:
        found = publication.find_model(own, *_other_names(run, own))
        if found is not None:
            matched[own] = found
    series = tuple(_iter_series(publication, values, matched))
    if not series:
        raise CrevalError(f"no numbers are published for the metrics of this run: {', '.join(columns)}.")
    judges = [judge for judge in dict.fromkeys(one.judge for one in series) if judge]
    own_judge = _letters(str(run.manifest["judge"] or ""))
    same = [judge for judge in judges if _letters(judge) in own_judge]
    return PublishedScores(publication, series, matched, subsets, (*same, *judges, "")[0])


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _other_names(run: Run, model: str) -> list[str]:
    """Return a model's other name in a run: the label of a stored name, or the stored name of a label."""
    labels = run.manifest.get(LABELS_KEY, {})
    return [other for pair in labels.items() if model in pair for other in pair if other != model]


def _iter_series(
    publication: Publication, values: Sequence[PublishedValue], matched: Mapping[str, str]
) -> Iterator[PublishedSeries]:
    """Yield the series in the paper's order of models. Values without a judge are in the series of every judge."""
    for model in publication.models:
        of_model = [value for value in values if value.model == model]
        own = tuple(name for name, published in matched.items() if published == model)
        for subset in dict.fromkeys(value.subset for value in of_model):
            here = [value for value in of_model if value.subset == subset]
            judges = [judge for judge in dict.fromkeys(value.judge for value in here) if judge] or [""]
            for judge in judges:
                cells: dict[Place, PublishedValue] = {}
                for value in here:
                    if value.judge in (judge, ""):
                        cells.setdefault((value.level, value.group, value.metric), value)
                yield PublishedSeries(model, judge, subset, own, cells)
