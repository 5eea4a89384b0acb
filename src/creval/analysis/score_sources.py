"""Sources of scores, which are runs or score files, to be compared side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from creval.analysis.scoring import build_score_table
from creval.analysis.scoring_options import ScoringOptions, resolve_options
from creval.core.errors import CrevalError, require_known
from creval.core.files import is_file, read_json
from creval.core.human_ratings import SkippedRows, is_rating_file, read_human_ratings, read_score_file
from creval.metrics.base import lower_is_better_metrics
from creval.providers.catalog import describe_judge
from creval.stats.human.people_summary import mean_rating_rows
from creval.stats.human.ratings import MetricScores, metric_scores_from_table
from creval.stats.score_rows import table_from_rows
from creval.stats.score_table import Floats, Integers, ScoreTable
from creval.stats.scorecard import build_scorecard
from creval.stats.source_agreement import ScoreSource
from creval.store import open_run

_EXPORTED_SCORES = ("sample_scores.parquet", "sample_scores.csv")
_EXPORTED_DIRECTIONS = "leaderboard.json"


@dataclass(frozen=True)
class NamedTable:
    """Scores of one run or file. If the user gave no `name`, one of `candidates` is used (shortest first)."""

    table: ScoreTable
    path: str
    name: str
    candidates: tuple[str, ...]
    has_ranking: bool
    labels: Mapping[str, str] = field(default_factory=dict)
    skipped_rows: tuple[SkippedRows, ...] = ()
    is_file: bool = False


def read_sources(
    specs: Sequence[str | Path], options: ScoringOptions, *, metrics: Sequence[str] = (), lower: Sequence[str] = ()
) -> list[ScoreSource]:
    """Return a source for each run and for each metric of each score file.

    A spec is the folder of a run, a file of scores or of human ratings, or the folder of an export, optionally named,
    such as `gpt4o=runs/a`. A run's source is its ranking column, unless `metrics` names others. `lower` names metrics
    in files that are better when lower.
    """
    tables = read_tables(specs, options, lower)
    sources = []
    for named, name in zip(tables, distinct_names(tables), strict=True):
        columns = _select_columns(named, metrics)
        for column in columns:
            title = column if len(tables) == 1 else f"{name}: {column}" if len(columns) > 1 else name
            table = replace(named.table, schema=replace(named.table.schema, rank_by=column))
            card = build_scorecard(table, resamples=options.get("resamples", 2_000), seed=options.get("seed", 0))
            sources.append(ScoreSource(title, card, named.path, named.skipped_rows))
    if not sources:
        raise CrevalError(f"no given run or file has a metric named in `metrics`: {', '.join(metrics)}.")
    return sources


def read_tables(specs: Sequence[str | Path], options: ScoringOptions, lower: Sequence[str] = ()) -> list[NamedTable]:
    """Return the scores of runs and score files. A model that has a label in one run has it in all sources."""
    found = [_read_table(str(spec), options, lower) for spec in specs]
    labels = {name: label for named in found for name, label in named.labels.items()}
    found = [replace(named, table=_relabel(named.table, labels)) for named in found]
    known = {column for named in found for column in named.table.schema.columns}
    for name in lower:
        require_known("metric", name, known)
    return found


def _relabel(table: ScoreTable, labels: Mapping[str, str]) -> ScoreTable:
    new = {name: labels.get(name, name) for name in table.models}
    if len(set(new.values())) < len(new):
        return table
    counts = ({new[name]: n for name, n in of.items()} for of in (table.unanswered, table.unasked, table.unsupported))
    unanswered, unasked, unsupported = counts
    models = tuple(new[name] for name in table.models)
    return replace(table, models=models, unanswered=unanswered, unasked=unasked, unsupported=unsupported)


def distinct_names(tables: Sequence[NamedTable]) -> list[str]:
    """Return a name for each table: the user's, or else the shortest one that no other table has."""
    found = [named.name for named in tables]
    for at in range(max(len(named.candidates) for named in tables)):
        offered = [named.candidates[min(at, len(named.candidates) - 1)] for named in tables]
        count = Counter([*filter(None, found), *(o for o, name in zip(offered, found, strict=True) if not name)])
        found = [name or (o if count[o] == 1 else "") for o, name in zip(offered, found, strict=True)]
    return [name or named.path for name, named in zip(found, tables, strict=True)]


def _select_columns(named: NamedTable, metrics: Sequence[str]) -> list[str]:
    schema = named.table.schema
    if metrics:
        return [name for name in metrics if name in schema.columns]
    return [schema.ranking_column] if named.has_ranking else list(schema.columns)


def is_score_file(spec: str) -> bool:
    """Return whether a spec names a score file or the folder of an export, not a run."""
    return _score_file(split_name(spec)[1]) is not None


def _score_file(path: str) -> Path | None:
    exported = (Path(path) / file for file in _EXPORTED_SCORES)
    found = next((file for file in exported if is_file(file)), None)
    if found is None and is_file(path) and Path(path).suffix.casefold() not in (".db", ""):
        return Path(path)
    return found


def _read_table(spec: str, options: ScoringOptions, lower: Sequence[str]) -> NamedTable:
    name, path = split_name(spec)
    file = _score_file(path)
    if file is None:
        return _read_run(name, path, options)
    return _read_file(name, file, lower, Path(path).stem)


def split_name(spec: str) -> tuple[str, str]:
    """Split `NAME=PATH`. An existing path may contain an equals sign."""
    name, equals, path = spec.partition("=")
    if not equals or Path(spec).exists():
        return "", spec
    if not name.strip() or not path.strip():
        raise CrevalError(f"{spec!r}: name a run or file as NAME=PATH, such as gpt4o=runs/a.")
    return name.strip(), path.strip()


def _read_run(name: str, path: str, options: ScoringOptions) -> NamedTable:
    with open_run(path, labels=True) as run:
        given: dict[str, Any] = dict(resolve_options(options, run.manifest))
        for unused in ("resamples", "seed"):
            given.pop(unused, None)
        table = build_score_table(run, common=given.pop("common_samples", False), **given)
        judge = describe_judge(run.manifest["judge"]) or "no judge"
        protocol = str(run.manifest.get("protocol") or run.manifest["benchmark"])
        date = str(run.manifest.get("date") or "")
        folder = run.folder.resolve().name
        names = (judge, f"{judge}, {protocol}", f"{judge}, {protocol}, {date}", f"{folder} ({judge})")
        return NamedTable(table, path, name, names, True, dict(run.manifest.get("labels", {})))


def _read_file(name: str, path: Path, lower: Sequence[str], stem: str) -> NamedTable:
    if is_rating_file(path):
        ratings = read_human_ratings(path)
        table = table_from_rows(list(mean_rating_rows(ratings.ratings)))
        skipped, described = ratings.skipped_rows, _ExportFacts()
    else:
        file = read_score_file(path)
        described = _read_export_facts(path)
        table = table_from_rows(file.rows, {*lower, *lower_is_better_metrics(), *described.lower})
        skipped = file.skipped_rows
    columns = table.schema.columns
    if described.ranking in columns:
        table = replace(table, schema=replace(table.schema, rank_by=described.ranking))
    names = (columns[0], stem, str(path)) if len(columns) == 1 else (stem, str(path))
    return NamedTable(table, str(path), name, names, bool(described.ranking), {}, skipped, True)


class _ExportFacts(NamedTuple):
    """Facts recorded in the folder of an export: the metrics for which lower is better, and the ranking column."""

    lower: frozenset[str] = frozenset()
    ranking: str = ""


def _read_export_facts(path: Path) -> _ExportFacts:
    described = path.parent / _EXPORTED_DIRECTIONS
    if path.name not in _EXPORTED_SCORES or not is_file(described):
        return _ExportFacts()
    content = read_json(described)
    entries = content.get("metrics") if isinstance(content, dict) else None
    metrics = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    lower = frozenset(str(entry.get("name")) for entry in metrics if entry.get("higher_is_better") is False)
    return _ExportFacts(lower, str(content.get("ranking") or ""))


def combine_tables(tables: Sequence[NamedTable]) -> MetricScores:
    """Return the scores of several sources as metrics such as `gpt-4o: IF`, over all models and samples.

    With a single source, the metrics keep their names.
    """
    if len(tables) == 1:
        scores = metric_scores_from_table(tables[0].table)
        return replace(scores, columns={name: name for name in scores.metrics})
    models = tuple(dict.fromkeys(name for named in tables for name in named.table.models))
    samples = tuple(dict.fromkeys(name for named in tables for name in named.table.samples))
    model_at, sample_at = ({name: at for at, name in enumerate(names)} for names in (models, samples))
    values: dict[str, Floats] = {}
    columns: dict[str, str] = {}
    lower, main = set[str](), list[str]()
    for named, title in zip(tables, distinct_names(tables), strict=True):
        schema, single = named.table.schema, len(named.table.schema.columns) == 1
        place = np.ix_(
            [model_at[name] for name in named.table.models], [sample_at[name] for name in named.table.samples]
        )
        found = named.table.with_composite()
        for at, column in enumerate(schema.columns):
            metric = title if single else f"{title}: {column}"
            values[metric] = np.full((len(models), len(samples)), np.nan)
            values[metric][place] = found[..., at]
            columns[metric] = column
            lower |= set() if schema.higher_is_better(column) else {metric}
            main += [metric] if not named.has_ranking or column == schema.ranking_column else []
    return MetricScores(
        metrics=tuple(values),
        models=models,
        samples=samples,
        values=np.stack(list(values.values())),
        clusters=_shared_clusters(tables, samples),
        main_metric=main[0],
        weights={main[0]: 1.0},
        lower_is_better=frozenset(lower),
        columns=columns,
        main_metrics=tuple(main),
    )


def _shared_clusters(tables: Sequence[NamedTable], samples: Sequence[str]) -> Integers:
    """Return the cluster of each sample, from the first run or file in which its cluster has several samples."""
    found: dict[str, str] = {}
    for number, named in enumerate(tables):
        sizes = np.bincount(named.table.clusters)
        for name, unit in zip(named.table.samples, named.table.clusters.tolist(), strict=True):
            if sizes[unit] > 1:
                found.setdefault(name, f"{number}/{unit}")
    return np.unique([found.get(name, f"sample {name}") for name in samples], return_inverse=True)[1].reshape(-1)
