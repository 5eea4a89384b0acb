"""Data frames of a run: verdicts, answers, scores, scores per sample, and samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from creval.core.edit_record import EditKey
from creval.core.probe import Question
from creval.reporting.repeated_answers import summarise_answers
from creval.stats.scorecard import Scorecard

if TYPE_CHECKING:
    import polars

    from creval.store.run import Run, VerdictRow

_CHUNK = 50_000  # verdicts in memory at a time
_EDIT_COLUMNS = ("model", "sample", "draw")
_PROBE_COLUMNS = ("probe", "metric", "question", "reference", "released", "weight")
_ANSWER_COLUMNS = ("judge", "repeat", "variant", "status", "value", "said", "explanation")
_OTHER_COLUMNS = ("right", "scored", "total", "instruction", "source", "subsets", "questions")
_RESERVED = {*_EDIT_COLUMNS, *_PROBE_COLUMNS, *_ANSWER_COLUMNS, *_OTHER_COLUMNS}


def tag_columns(run: Run) -> dict[str, str]:
    """Map each tag of the samples to a column name: the tag, or `tag_TAG` if another column has that name."""
    tags = dict.fromkeys(tag for sample in run.samples.values() for tag in sample.tags)
    return {tag: f"tag_{tag}" if tag in _RESERVED else tag for tag in tags}


def iter_verdict_frames(run: Run, card: Scorecard) -> Iterator[polars.DataFrame]:
    """Yield frames with a row per verdict, each with a part of the rows."""
    import polars

    rows = run.iter_verdict_rows()
    schema: dict[str, Any] = dict.fromkeys((*_EDIT_COLUMNS, "probe", *_ANSWER_COLUMNS), polars.String)
    schema |= {"draw": polars.Int64, "repeat": polars.Int64, "value": polars.Float64}
    probes, tags = _probe_frame(run), _tag_frame(run)
    order = [*_EDIT_COLUMNS, *tags.columns[1:], *_PROBE_COLUMNS, *_ANSWER_COLUMNS, "right"]
    wanted = polars.col("model").is_in(list(card.table.models))
    wanted &= polars.col("sample").is_in(list(card.table.samples))
    chunk = rows.fetchmany(_CHUNK)
    more = True  # a run without verdicts gives one frame without rows
    while more:
        frame = polars.DataFrame(chunk, schema=schema, orient="row").filter(wanted)
        frame = frame.join(tags, on="sample", how="left", maintain_order="left")
        frame = frame.join(probes, on=["sample", "probe"], how="left", maintain_order="left")
        yield frame.with_columns(right=_is_right()).select(order)
        chunk = rows.fetchmany(_CHUNK)
        more = bool(chunk)


def answer_frame(run: Run, card: Scorecard) -> polars.DataFrame | None:
    """Return a row per edit and question with the summary of its answers, or None without repeated answers."""
    import polars

    rows = []
    wanted, samples = set(card.table.models), set(card.table.samples)
    for (edit, probe_id), answers in _answers_by_question(run):
        probe = run.find_probe(edit.sample, probe_id)
        if edit.model in wanted and edit.sample in samples:
            found = summarise_answers(probe, answers, use_mean=run.uses_probabilities)
            rows.append((*edit, probe_id, probe.metric, found.text, found.value, found.agreeing, found.total))
    if not any(row[-1] > 1 for row in rows):
        return None
    schema: dict[str, Any] = dict.fromkeys((*_EDIT_COLUMNS, "probe", "metric", "said"), polars.String)
    schema |= {"draw": polars.Int64, "value": polars.Float64, "agreeing": polars.Int64, "answers": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")


def _answers_by_question(run: Run) -> Iterator[tuple[tuple[EditKey, str], list[VerdictRow]]]:
    """Yield the answers to each question about each edit, in the order of the first answers."""
    found: dict[tuple[EditKey, str], list[VerdictRow]] = {}
    for answer in run.answers():
        found.setdefault((answer.edit, answer.probe), []).append(answer)
    return iter(found.items())


def _is_right() -> polars.Expr:
    """Return a polars expression: true if the answer equals the reference, and null if either is missing."""
    import polars

    value, reference = polars.col("value"), polars.col("reference")
    both = value.is_not_null() & reference.is_not_null()
    yes_no = polars.when(value != 0.5).then((value > 0.5) == (reference == "Yes"))
    number = value == reference.cast(polars.Float64, strict=False)
    asked = polars.when(polars.col("contract") == "yes/no").then(yes_no).otherwise(number)
    return polars.when(both).then(asked)


def _probe_frame(run: Run) -> polars.DataFrame:
    import polars

    rows: list[tuple[Any, ...]] = []
    for sample, several in run.probes.items():
        for probe in several:
            rest: tuple[Any, ...] = (None, None, None, None, None)
            if isinstance(probe, Question):
                rest = (probe.text, probe.reference, probe.released_reference, probe.weight, probe.scale)
            rows.append((sample, probe.id, probe.metric, *rest))
    words = ("sample", "probe", "metric", "question", "reference", "released")
    schema = {**dict.fromkeys(words, polars.String), "weight": polars.Float64, "contract": polars.String}
    return polars.DataFrame(rows, schema=schema, orient="row")


def _tag_frame(run: Run) -> polars.DataFrame:
    import polars

    columns = tag_columns(run)
    rows = [[s.id, *(s.tags.get(tag) for tag in columns)] for s in run.samples.values()]
    schema = dict.fromkeys(("sample", *columns.values()), polars.String)
    return polars.DataFrame(rows, schema=schema, orient="row")


def score_frame(card: Scorecard) -> polars.DataFrame:
    """Return a row per cell: level, group, model, metric, value, interval and coverage."""
    import polars

    share = polars.when(polars.col("total") > 0).then(polars.col("scored") / polars.col("total"))
    return card.frame().with_columns(coverage=share)


def sample_score_frame(run: Run, card: Scorecard) -> polars.DataFrame:
    """Return a row per sample, model and metric. Several draws are averaged."""
    import polars

    table = card.table
    columns = table.schema.columns
    values = table.with_composite()
    counts = [_append_sum(np.asarray(found), len(columns)) for found in (table.scored, table.total)]
    models, samples = len(table.models), len(table.samples)
    frame = polars.DataFrame(
        {
            "model": _repeat_names(table.models, samples * len(columns), 1),
            "sample": _repeat_names(table.samples, len(columns), models),
            "metric": _repeat_names(columns, 1, models * samples),
            "value": values.reshape(-1),
            "scored": counts[0].reshape(-1),
            "total": counts[1].reshape(-1),
        }
    ).with_columns(polars.col("value").fill_nan(None))
    tagged = frame.join(_tag_frame(run), on="sample", how="left", maintain_order="left")
    first_of = np.unique(table.clusters, return_index=True)[1][table.clusters].tolist()
    sources = {"sample": list(table.samples), "source": [table.samples[at] for at in first_of]}
    tagged = tagged.join(polars.DataFrame(sources), on="sample", how="left", maintain_order="left")
    first = ["model", "sample", "source", *tag_columns(run).values()]
    return tagged.select([*first, "metric", "value", "scored", "total"])


def _append_sum(counts: Any, columns: int) -> Any:
    """Append the counts of the composite column, which are sums over metrics, if there is such a column."""
    if counts.shape[-1] == columns:
        return counts
    return np.concatenate([counts, counts.sum(axis=-1, keepdims=True)], axis=-1)


def _repeat_names(names: Sequence[str], each: int, times: int) -> list[str]:
    return [name for _ in range(times) for name in names for _ in range(each)]


def sample_frame(run: Run, card: Scorecard) -> polars.DataFrame:
    """Return a row per sample: its instruction, source file name, tags and subsets."""
    import polars

    columns = tag_columns(run)
    rows = []
    for name in card.table.samples:
        sample = run.samples[name]
        inside = ";".join(sorted(one for one, ids in run.subsets.items() if name in ids))
        source = sample.source.name if sample.source else None
        tags = [sample.tags.get(tag) for tag in columns]
        rows.append([name, sample.instruction, source, *tags, inside, len(run.probes[name])])
    words = ("sample", "instruction", "source", *columns.values(), "subsets")
    schema = {**dict.fromkeys(words, polars.String), "questions": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")
