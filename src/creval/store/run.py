"""Reading of a run: samples, probes, edits, verdicts and costs."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from creval import registry
from creval.core.call import CACHE_ORIGIN
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError, require_known
from creval.core.probe import Measurement, Probe, Question
from creval.core.sample import InstructionStep, Sample
from creval.core.scales import get_scale, is_scale
from creval.core.schema import Level
from creval.store.damage import explained, raise_if_damaged
from creval.store.database_schema import read_manifest
from creval.store.readonly import open_readonly, voices_with_values
from creval.store.stored_shapes import (
    EDIT_DETAIL,
    MEASUREMENT_DETAIL,
    QUESTION_DETAIL,
    SAMPLE_DETAIL,
    TAGS,
    parse_stored,
)
from creval.store.writer import DATABASE, select_edits

LABELS_KEY = "labels"
"""Manifest key of the models' display labels."""
PROVENANCE_KEY = "makers"
"""Manifest key of the provenance of each model's edits."""
METRIC_VOICE_PREFIX = "gauge:"
"""Prefix of an image metric's name in the column of judges."""
_BY_JUDGE = f"voice IN (SELECT id FROM voices WHERE judge NOT LIKE '{METRIC_VOICE_PREFIX}%')"

VERDICT_COLUMNS = "system, sample, draw, probe, judge, repeat, variant, verdicts.status, value, said, explanation"
FROM_VERDICTS = "FROM verdicts JOIN edits ON edits.id = verdicts.edit JOIN voices ON voices.id = voice"
_WITHOUT_VERDICT = "NOT EXISTS (SELECT 1 FROM verdicts WHERE edit = edits.id)"


class MeasurementCounts(NamedTuple):
    """Numbers of edits by the result of their measurements.

    `edits`: with at least one value. `failed`: with a measurement that failed. `incomplete`: with a value that is
    missing for any reason. `reasons` has the reasons with their counts.
    """

    edits: int
    failed: int
    incomplete: int
    reasons: list[tuple[str, int]]


class VerdictRow(NamedTuple):
    """A stored verdict with its edit, its voice (judge, repeat, variant) and the id of its reply."""

    edit: EditKey
    probe: str
    judge: str
    repeat: int
    variant: str
    status: str
    value: float | None
    raw_answer: str
    explanation: str
    reply_id: int | None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> VerdictRow:
        """Return the verdict from a row of `VERDICT_COLUMNS` followed by the reply's id."""
        return cls(EditKey(*row[:3]), *row[3:])


class MissingEdit(NamedTuple):
    """An edit without an image and without verdicts, with its status and the reason."""

    edit: EditKey
    status: EditStatus
    reason: str


class RunCosts(NamedTuple):
    """Total number, tokens and cost (US dollars) of a run's calls, as far as reported by the servers."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


RunT = TypeVar("RunT", bound="Run")


class Run:
    """The run in a folder, open for reading. Another process may still be writing to it.

    >>> run = open_run("runs/paper")                       # doctest: +SKIP
    >>> run.score(subset="paper").frame()                  # doctest: +SKIP
    """

    def __init__(self, folder: str | Path, *, labels: bool = False) -> None:
        """Open the run. With `labels`, models have their display labels instead of their names."""
        self.folder = run_folder(folder)
        self.labels: Mapping[str, str] = {}
        path = self.folder / DATABASE
        if not self.folder.exists():
            raise CrevalError(f"{folder} does not exist. Give the folder of a run.")
        if not path.is_file():
            raise CrevalError(f"{folder} is not a run: it contains no {DATABASE}. {_runs_inside(self.folder)}")
        self._connection = open_readonly(path)
        # In a notebook, `open_run(...).score()` leaves no object that could be closed.
        self._finalizer = weakref.finalize(self, self._connection.close)
        try:
            with explained(self._connection, path):
                is_begun = "protocol" in self.manifest
                if labels and is_begun and (chosen := self._find_usable_labels()):
                    self.labels = chosen
                    _show_labels(self._connection, chosen)
                    vars(self).pop("manifest")  # read again, because it contains models' names
            if not is_begun:
                raise CrevalError(
                    f"{folder} is an empty run: the command that created it did not finish. Run that command again."
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._finalizer()

    def __enter__(self: RunT) -> RunT:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            raise_if_damaged(self._connection, self.folder / DATABASE, error)
        finally:
            self.close()

    def explaining_damage(self) -> AbstractContextManager[None]:
        """Return a context manager for reading the run.

        If its block fails because the database is damaged, the error describes the damage.
        """
        return explained(self._connection, self.folder / DATABASE)

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """Settings and provenance of the run, from which the run can be repeated."""
        held = read_manifest(self._connection, self.folder / DATABASE)
        if LABELS_KEY in held:
            held[LABELS_KEY] = read_labels(held)
        if self.labels:
            makers = {self.resolve_model(name): made for name, made in held.get(PROVENANCE_KEY, {}).items()}
            held |= {LABELS_KEY: self.labels, **({PROVENANCE_KEY: makers} if makers else {})}
        return held

    def _find_usable_labels(self) -> dict[str, str]:
        """Return the labels that are unique among the names and labels of the run's models."""
        given = self.manifest.get(LABELS_KEY, {})
        names = [name for (name,) in self._connection.execute("SELECT DISTINCT system FROM edits")]
        shown = Counter(given.get(name, name) for name in names)
        return {name: given[name] for name in names if name in given and shown[given[name]] == 1}

    def resolve_model(self, name: str) -> str:
        """Return a model's name in this open run, given its stored name or its label."""
        stored = self.labels or self.manifest.get(LABELS_KEY, {})
        both = stored if self.labels else {label: own for own, label in stored.items()}
        return name if name in self.models else both.get(name, name)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Levels of the dataset: the ways in which its samples, or parts of samples, are grouped."""
        return tuple(
            Level(
                level["name"],
                level["plural"],
                tuple(level["groups"]),
                level["of"],
                level["parts"],
                tuple(level["minus"]) if level["minus"] else None,
            )
            for level in self.manifest.get("levels", ())
        )

    @cached_property
    def models(self) -> tuple[str, ...]:
        """Models of the run, sorted by their stored names."""
        names = [row[0] for row in self._connection.execute("SELECT DISTINCT system FROM edits")]
        own = {label: name for name, label in self.labels.items()}
        return tuple(sorted(names, key=lambda name: own.get(name, name)))  # so that results do not depend on labels

    @cached_property
    def samples(self) -> Mapping[str, Sample]:
        """Samples by id, in the benchmark's order, without their questions."""
        query = "SELECT id, instruction, source, tags, detail FROM samples ORDER BY position"
        return {row[0]: _parse_sample(*row) for row in self._connection.execute(query)}

    @cached_property
    def probes(self) -> Mapping[str, tuple[Probe, ...]]:
        """Questions and measurements of each sample, by sample id."""
        found: dict[str, list[Probe]] = {identity: [] for identity in self.samples}
        query = "SELECT sample, id, metric, text, label, reference, released, weight, detail FROM probes ORDER BY rowid"
        for sample, *row in self._connection.execute(query):
            found[sample].append(_parse_probe(*row))
        asked = (probe for several in found.values() for probe in several if isinstance(probe, Question))
        protocol = self.manifest.get("protocol", "")
        if not all(is_scale(question.scale) for question in asked) and protocol in registry.protocols:
            registry.protocols.get(protocol)().register_scales()
        return {identity: tuple(probes) for identity, probes in found.items()}

    @cached_property
    def _probe_index(self) -> Mapping[tuple[str, str], Probe]:
        """Probes by sample and probe id."""
        return {(sample, probe.id): probe for sample, probes in self.probes.items() for probe in probes}

    def find_probe(self, sample: str, probe: str) -> Probe:
        """Return a sample's question or measurement by its id."""
        return self._probe_index[sample, probe]

    @property
    def uses_probabilities(self) -> bool:
        """True if answers are probabilities. Several answers are then averaged."""
        return bool(self.manifest.get("settings", {}).get("logprobs"))

    @cached_property
    def measurement_ids(self) -> frozenset[str]:
        """Ids of the probes that are measurements."""
        query = "SELECT DISTINCT id FROM probes WHERE text IS NULL"
        return frozenset(row[0] for row in self._connection.execute(query))

    @cached_property
    def subsets(self) -> Mapping[str, frozenset[str]]:
        """Named subsets of the samples."""
        found: dict[str, set[str]] = {}
        for name, sample in self._connection.execute("SELECT name, sample FROM subsets"):
            found.setdefault(name, set()).add(sample)
        return {name: frozenset(ids) for name, ids in found.items()}

    def sample_ids(self, subset: str | None) -> tuple[str, ...]:
        """Return the ids of the samples in a named subset (None: all samples), in the benchmark's order."""
        if subset is None:
            return tuple(self.samples)
        members = self.subsets[require_known("subset", subset, self.subsets)]
        return tuple(identity for identity in self.samples if identity in members)

    def values_by_edit(
        self, sample: str | None = None, *, averaged: bool = False
    ) -> Iterator[tuple[EditKey, dict[str, float | None]]]:
        """Yield each edit's values by probe.

        Several answers to a question are reduced to one value: their mean for numeric scales and probabilities or with
        `averaged`, otherwise the majority.
        """
        of, chosen = ("", ()) if sample is None else ("WHERE sample = ?", (sample,))
        rows = self._connection.execute(f"SELECT id, system, sample, draw FROM edits {of}", chosen)
        edits = {number: EditKey(*key) for number, *key in rows}
        voices = self._connection.execute("SELECT count(*) FROM voices WHERE variant = ''")
        several = voices.fetchone()[0] > 1
        use_mean = averaged or self.uses_probabilities
        rows = self._connection.execute(
            "SELECT edit, probe, value FROM verdicts"
            " WHERE voice IN (SELECT id FROM voices WHERE variant = '')"
            + (f" AND edit IN (SELECT id FROM edits {of})" if of else ""),
            chosen,
        )
        found: dict[int, dict[str, Any]] = {number: {} for number in edits}
        if several:
            for edit, probe, value in rows:
                found[edit].setdefault(probe, []).append(value)
        else:
            for edit, probe, value in rows:
                found[edit][probe] = value
        for edit, values in found.items():
            key = edits[edit]
            if several:
                index = self._probe_index
                values = {n: reduce_answers(index[key.sample, n], all_, use_mean) for n, all_ in values.items()}
            if values:
                yield key, values

    def count_ties(self, models: Container[str], samples: Container[str]) -> int:
        """Count the questions without a value because their answers tie."""
        query = (
            "SELECT system, sample, probe, json_group_array(value) FROM verdicts JOIN edits ON edits.id = edit"
            " WHERE value IS NOT NULL AND voice IN (SELECT id FROM voices WHERE variant = '')"
            " GROUP BY edit, probe HAVING count(*) > 1"
        )
        return sum(
            reduce_answers(self._probe_index[sample, probe], json.loads(values), self.uses_probabilities) is None
            for _, sample, probe, values in self._select(query, models, samples)
        )

    def _select(
        self, query: str, models: Container[str] | None, samples: Container[str] | None
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query whose first two columns are one of these models and samples. None selects all."""
        for row in self._connection.execute(query):
            if (models is None or row[0] in models) and (samples is None or row[1] in samples):
                yield row

    def image_metrics(self) -> list[str]:
        """Return the names of the image metrics that have values. A name includes the model that the metric uses."""
        voices = voices_with_values(self._connection)
        return [name.removeprefix(METRIC_VOICE_PREFIX) for name in voices if name.startswith(METRIC_VOICE_PREFIX)]

    def count_answers_by_voice(self) -> dict[tuple[str, int], int]:
        """Return the number of answered questions by judge and repeat."""
        query = (
            "SELECT judge, repeat, sum(verdicts.status = 'answered') FROM verdicts"
            f" JOIN voices ON voices.id = voice WHERE variant = '' AND {_BY_JUDGE}"
            " GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return {(judge, repeat): count for judge, repeat, count in self._connection.execute(query)}

    @cached_property
    def unsupported(self) -> frozenset[tuple[str, str]]:
        """Pairs of a model and a sample that the model does not support."""
        query = "SELECT system, sample FROM edits WHERE status = 'unsupported'"
        return frozenset(self._connection.execute(query))

    def count_unopened_images(self) -> int:
        """Return the number of edits that could not be judged because an image could not be opened."""
        query = "SELECT count(*) FROM edits WHERE status = 'failed' AND image IS NOT NULL"
        return int(self._connection.execute(query).fetchone()[0])

    def missing_edits(self) -> list[MissingEdit]:
        """Return the missing edits.

        Edits that are absent or impossible are skipped if another draw of the same sample has an image.
        """
        query = "SELECT DISTINCT system, sample FROM edits WHERE image IS NOT NULL"
        with_image = set(self._connection.execute(query))
        rows = self._connection.execute(
            "SELECT system, sample, draw, status, reason FROM edits"
            f" WHERE status <> 'done' AND image IS NULL AND {_WITHOUT_VERDICT} ORDER BY id"
        )
        found = [MissingEdit(EditKey(*row[:3]), EditStatus(row[3]), row[4]) for row in rows]
        return [
            missing
            for missing in found
            if missing.status not in (EditStatus.ABSENT, EditStatus.IMPOSSIBLE) or missing.edit[:2] not in with_image
        ]

    def unjudged_edits(self) -> list[EditKey]:
        """Return the existing edits that have no verdicts yet."""
        rows = self._connection.execute(
            f"SELECT system, sample, draw FROM edits WHERE status = 'done' AND {_WITHOUT_VERDICT}"
        )
        return [EditKey(*row) for row in rows]

    def metrics_with_verdicts(self) -> frozenset[str]:
        """Return the metrics with at least one verdict, answered or not."""
        return frozenset(m for (m,) in self._connection.execute("SELECT DISTINCT metric FROM answers"))

    def answers(self, model: str | None = None, sample: str | None = None) -> Iterator[VerdictRow]:
        """Yield the stored verdicts except those of variants, optionally of one model or sample only."""
        chosen = {column: name for column, name in (("system", model), ("sample", sample)) if name is not None}
        which = "".join(f" AND {column} = ?" for column in chosen)
        query = f"SELECT {VERDICT_COLUMNS}, reply {FROM_VERDICTS} WHERE variant = ''{which} ORDER BY verdicts.rowid"
        for row in self._connection.execute(query, tuple(chosen.values())):  # keeps the run open meanwhile
            yield VerdictRow.from_row(row)

    def edits_of(self, sample: str) -> tuple[Edit, ...]:
        """Return a sample's edits, by model and draw."""
        edits = select_edits(self._connection, "WHERE sample = ? ORDER BY system, draw", (sample,))
        return tuple(
            edit._replace(
                image=edit.image and self.resolve_image(edit.image),
                parents=tuple(key._replace(model=self.labels.get(key.model, key.model)) for key in edit.parents),
            )
            for edit in edits
        )

    def resolve_image(self, image: Path) -> Path:
        """Return an image's path.

        A relative path is also looked up in the folders of edits and their parents, because one of them may have been
        the working directory when the image was judged.
        """
        if image.is_absolute():
            return image
        for folder in map(Path, self.manifest.get("edits_folders", ())):
            for start in (folder, *folder.parents):
                whole = Path(os.path.normpath(start / image))
                if whole.is_relative_to(folder) and whole.is_file():
                    return whole
        return image

    def image_paths(self) -> Iterator[tuple[EditKey, Path | None]]:
        """Yield each edit's key with the path of its image, which may not exist."""
        query = "SELECT system, sample, draw, image FROM edits ORDER BY system, rowid"
        for *key, image in self._connection.execute(query):
            yield EditKey(*key), self.resolve_image(Path(image)) if image else None

    def costs(self) -> RunCosts:
        """Return the total costs of the run's calls. A call with several replies counts once."""
        query = "SELECT sum(tokens_in), sum(tokens_out), sum(cost) FROM replies WHERE latency IS NOT NULL"
        tokens_in, tokens_out, cost = self._connection.execute(query).fetchone()
        (calls,) = self._connection.execute(
            "SELECT count(*) FROM (SELECT DISTINCT asks.edit, probes, judge, latency FROM replies"
            " JOIN asks ON asks.id = ask JOIN voices ON voices.id = asks.voice WHERE latency IS NOT NULL)"
        ).fetchone()
        return RunCosts(calls, tokens_in or 0, tokens_out or 0, cost or 0.0)

    def count_cached_replies(self) -> int:
        """Return the number of replies from the cache, which other runs had paid for."""
        query = "SELECT count(*) FROM replies WHERE origin = ?"
        return int(self._connection.execute(query, (CACHE_ORIGIN,)).fetchone()[0])

    def edit_metadata(self) -> dict[EditKey, dict[str, Any]]:
        """Return the editors' metadata by edit."""
        rows = self._connection.execute("SELECT system, sample, draw, detail FROM edits")
        return {EditKey(*key): parse_stored(detail, EDIT_DETAIL).get("facts", {}) for *key, detail in rows}

    def verdicts_by_voice(self) -> Iterator[tuple[str, int, EditKey, str, float | None]]:
        """Yield judge, repeat, edit, probe and value of each verdict, except those of variants."""
        columns = "judge, repeat, probe, value, system, sample, draw"
        query = f"SELECT {columns} {FROM_VERDICTS} WHERE variant = '' ORDER BY verdicts.rowid"
        for judge, repeat, probe, value, *key in self._connection.execute(query):
            yield judge, repeat, EditKey(*key), probe, value

    def iter_verdict_rows(self) -> sqlite3.Cursor:
        """Return a cursor with a row of `VERDICT_COLUMNS` for every verdict, including those of variants."""
        return self._connection.execute(f"SELECT {VERDICT_COLUMNS} {FROM_VERDICTS} ORDER BY verdicts.rowid")

    def count_verdicts(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])

    def count_statuses(self, samples: Container[str] | None = None) -> dict[str, dict[str, int]]:
        """Return the number of questions by model and status, for some samples or for all."""
        query = f"SELECT system, sample, verdicts.status, count(*) {FROM_VERDICTS} WHERE {_BY_JUDGE}"
        counts: dict[str, dict[str, int]] = {}
        for model, _, status, count in self._select(f"{query} GROUP BY 1, 2, 3 ORDER BY 1, 3", None, samples):
            of = counts.setdefault(model, {})
            of[status] = of.get(status, 0) + count
        return counts

    def unanswered_reasons(
        self, models: Container[str] | None = None, samples: Container[str] | None = None
    ) -> list[tuple[str, int]]:
        """Return the reasons of unanswered questions with their counts, most frequent first."""
        query = (
            f"SELECT system, sample, verdicts.status, explanation, count(*) {FROM_VERDICTS}"
            f" WHERE verdicts.status <> 'answered' AND {_BY_JUDGE} GROUP BY 3, 4, 1, 2 ORDER BY 5 DESC, 3, 4"
        )
        reasons: Counter[str] = Counter()
        for _, _, status, explanation, count in self._select(query, models, samples):
            # With other statuses, the explanation is the judge's own and not the reason.
            given = explanation if status in ("failed", "refused", "missing") else ""
            reason = f"{status}: {given or _DEFAULT_REASONS.get(status, 'for no stated reason')}"
            reasons[reason] += count
        return reasons.most_common()

    def count_measurements(
        self, models: Container[str] | None = None, samples: Container[str] | None = None
    ) -> MeasurementCounts:
        """Count the measurements of some models and samples, or of all."""
        query = (
            f"SELECT DISTINCT system, sample, edit, verdicts.status, explanation {FROM_VERDICTS} WHERE NOT {_BY_JUDGE}"
        )
        edits: dict[str, set[int]] = {}
        reasons: Counter[str] = Counter()
        for _, _, edit, status, reason in self._select(query, models, samples):
            edits.setdefault(status, set()).add(edit)
            if status != "answered":
                edits.setdefault("lacking", set()).add(edit)
                reasons[reason] += 1
        done, failed, lacking = (len(edits.get(of, ())) for of in ("answered", "failed", "lacking"))
        return MeasurementCounts(done, failed, lacking, sorted(reasons.items(), key=lambda r: (-r[1], r[0])))

    def unanswered_verdicts(self, limit: int = -1) -> list[VerdictRow]:
        """Return the first `limit` verdicts without a value, or all."""
        query = (
            f"SELECT {VERDICT_COLUMNS}, reply {FROM_VERDICTS} WHERE verdicts.status <> 'answered' AND {_BY_JUDGE}"
            " ORDER BY system, sample, probe LIMIT ?"
        )
        return list(map(VerdictRow.from_row, self._connection.execute(query, (limit,))))


_DEFAULT_REASONS = {
    "missing": "the reply says nothing about the question",
    "inapplicable": "the judge says that the question does not apply",
    "ambiguous": "the reply answers in two ways",
    "unreadable": "the answer is not on the scale",
    "unaskable": "the question has no text",
}


def run_folder(path: str | Path) -> Path:
    """Return the folder of a run, given that folder or the path of its database."""
    path = Path(path)
    return path.parent if path.name == DATABASE and path.is_file() else path


def find_databases(folder: Path) -> list[Path]:
    """Return the subfolders that contain a database of creval, such as runs."""
    return sorted(path.parent for path in folder.glob(f"*/{DATABASE}") if path.is_file())


def _runs_inside(folder: Path) -> str:
    """Return what to do about a folder that is not a run. Names the runs in its subfolders, if there are any."""
    inside = find_databases(folder)
    if not inside:
        return "Create one with `creval judge`."
    more = f" and {len(inside) - 5} more" if len(inside) > 5 else ""
    return f"Give one of the runs in it: {', '.join(map(str, inside[:5]))}{more}."


def open_run(folder: str | Path, *, labels: bool = False) -> Run:
    """Open the run in a folder for reading. With `labels`, models have their display labels instead of names."""
    return Run(folder, labels=labels)


def is_showable(name: object) -> bool:
    """Return whether a text is a valid model name or label: 1 to 200 printable characters, no surrounding spaces."""
    return isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable() and name == name.strip()


def read_labels(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return a run's labels, without invalid ones."""
    held = manifest.get(LABELS_KEY)
    return {name: text for name, text in held.items() if is_showable(text)} if isinstance(held, dict) else {}


def _show_labels(connection: sqlite3.Connection, labels: Mapping[str, str]) -> None:
    """Replace models' names by their labels in all later queries of a connection."""
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("CREATE TEMP TABLE labels (name TEXT PRIMARY KEY, label TEXT NOT NULL) WITHOUT ROWID")
    with connection:
        connection.executemany("INSERT INTO temp.labels VALUES (?, ?)", labels.items())
    connection.execute(
        "CREATE TEMP VIEW edits AS SELECT id, id AS rowid, sample, draw, status, image, reason, detail,"
        " coalesce((SELECT label FROM temp.labels WHERE name = main.edits.system), system) AS system FROM main.edits"
    )
    connection.execute("PRAGMA query_only = ON")


def reduce_answers(probe: Probe, answers: Sequence[float | None], use_mean: bool) -> float | None:
    """Return one value for all answers to a probe, or None if there is no value.

    With `use_mean` (for probabilities), it is their mean.
    """
    values = [value for value in answers if value is not None]
    if not values:
        return None
    if isinstance(probe, Measurement):
        return sum(values) / len(values)
    scale = get_scale(probe.scale)
    return scale.mean(values) if use_mean else scale.reduce(values)


def _parse_sample(identity: str, instruction: str, source: str | None, tags: str, detail: str) -> Sample:
    more = parse_stored(detail, SAMPLE_DETAIL)
    return Sample(
        identity,
        instruction,
        Path(source) if source else None,
        parse_stored(tags, TAGS),
        steps=tuple(
            InstructionStep(**{**s, "needs": tuple(s["needs"]), "boxes": tuple(map(tuple, s["boxes"]))})
            for s in more.get("steps", ())
        ),
        mask=Path(more["mask"]) if "mask" in more else None,
        references=tuple(map(Path, more.get("references", ()))),
        captions=more.get("captions", {}),
        derived_from=more.get("made_of", ""),
    )


def _parse_probe(identity: str, metric: str, text: str | None, *more: Any) -> Probe:
    label, reference, released, weight, detail = more
    if text is None:
        measured = parse_stored(detail, MEASUREMENT_DETAIL)
        return Measurement(identity, metric, measured["gauge"], measured["parameters"])
    rest = dict(parse_stored(detail, QUESTION_DETAIL)) if detail != "{}" else {}
    question = Question(identity, metric, text, "yes/no", reference, released, weight, label)
    if rest:
        if "shows" in rest:
            rest["shows"] = tuple(rest["shows"])
        if "contract" in rest:
            rest["scale"] = rest.pop("contract")
        question = question._replace(**rest)
    return question
