"""Full-text search over instructions, questions and explanations.

The index is an in-memory FTS5 table of SQLite. For 8 models x 904 samples x 17 questions it is built in one second.
A search takes 1 to 2 ms; a scan of the explanations would take 90 to 160 ms. The index stores row numbers only. Texts
are read from the run, so they are always current.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from creval.core.sample import Sample
from creval.store.lookup import RunLookup

KINDS = INSTRUCTION, QUESTION, EXPLANATION = "instruction", "question", "explanation"
MAX_COUNTED = 10_000
"""Maximum number of texts that are counted."""
_BATCH_SIZE = 5_000  # texts added at a time; a search may have to wait for one batch
_MAX_QUERY_CHARS = 200  # in a query
_WORD = re.compile(r'"([^"]*)"|([^\s"]+)')
_LETTERS = re.compile(r"\w")


class SearchHit(NamedTuple):
    """The place of a hit: a sample's instruction, a question, or the row of a verdict."""

    sample: str
    probe: str
    row: int


class TextIndex:
    """Search index of a run's texts. It can be searched during an update."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._connection.close)
        self.clear()

    def clear(self) -> None:
        """Remove all texts."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        for kind in KINDS:
            self._connection.executescript(
                f"DROP TABLE IF EXISTS {kind}_texts; DROP TABLE IF EXISTS {kind}_places;"
                f"CREATE VIRTUAL TABLE {kind}_texts USING fts5 (text, content = '',"
                " columnsize = 0, tokenize = 'unicode61 remove_diacritics 2');"
                f"CREATE TABLE {kind}_places (id INTEGER PRIMARY KEY, sample TEXT, probe TEXT,"
                " row INTEGER);"
            )
        self._texts: frozenset[tuple[str, str, str]] = frozenset()
        self._models: frozenset[str] = frozenset()
        self._row = self._reply = self._count = 0

    def update(
        self, run: RunLookup, models: Sequence[str] | None = None, samples: Mapping[str, Sample] | None = None
    ) -> None:
        """Add the texts that are new since the last update, by default of all models and samples.

        The index is rebuilt if texts or models were removed from the run.
        """
        models, samples = run.models if models is None else models, run.samples if samples is None else samples
        listed = list(_iter_texts(run, samples))
        texts, count = frozenset(listed), run.count_verdicts()
        with self._lock:
            if count < self._count or not self._texts <= texts or not self._models <= set(models):
                self._clear()
            fresh = [text for text in listed if text not in self._texts]
        for kind in (INSTRUCTION, QUESTION):
            mine = [text for text in fresh if bool(text[1]) == (kind == QUESTION)]
            self._add(kind, ((text, (sample, probe, 0)) for sample, probe, text in mine))
        self._add(EXPLANATION, self._explanations(run, models, samples))
        self._texts, self._count, self._models = texts, count, frozenset(models)

    def _explanations(
        self, run: RunLookup, models: Sequence[str], samples: Mapping[str, Sample]
    ) -> Iterator[tuple[str, tuple[str, str, int]]]:
        for row, reply, explanation in run.explanations(self._row, self._reply, models, samples):
            self._row, self._reply = max(row, self._row), max(reply, self._reply)
            if explanation:
                yield explanation, ("", "", row)

    def _add(self, kind: str, texts: Iterable[tuple[str, tuple[str, str, int]]]) -> None:
        remaining = iter(texts)
        while batch := list(islice(remaining, _BATCH_SIZE)):
            with self._lock:
                for text, place in batch:
                    added = self._connection.execute(
                        f"INSERT INTO {kind}_places (sample, probe, row) VALUES (?, ?, ?)", place
                    )
                    self._connection.execute(
                        f"INSERT INTO {kind}_texts (rowid, text) VALUES (?, ?)", (added.lastrowid, text)
                    )
                self._connection.commit()

    def count(self, query: str, kind: str) -> int:
        """Return the number of texts of a kind that match a query, up to `MAX_COUNTED`.

        All words must match. A word matches all words that begin with it. Words in quotation marks are a phrase.
        """
        expression = fts_query(query)
        if not expression:
            return 0
        inside = f"SELECT 1 FROM {kind}_texts WHERE {kind}_texts MATCH ? LIMIT {MAX_COUNTED}"
        with self._lock:
            counted = self._connection.execute(f"SELECT count(*) FROM ({inside})", (expression,))
            return int(counted.fetchone()[0])

    def find(self, query: str, kind: str, limit: int, skip: int = 0) -> list[SearchHit]:
        """Return some of the texts that match a query, in the run's order."""
        expression = fts_query(query)
        if not expression:
            return []
        found = (
            f"SELECT sample, probe, row FROM {kind}_places WHERE id IN (SELECT rowid FROM"
            f" {kind}_texts WHERE {kind}_texts MATCH ? ORDER BY rowid LIMIT ? OFFSET ?) ORDER BY id"
        )
        with self._lock:
            rows = self._connection.execute(found, (expression, limit, skip))
            return list(dict.fromkeys(SearchHit(*row) for row in rows))


def search_terms(query: str) -> list[str]:
    """Return the words and phrases of a query."""
    return [quoted or word for quoted, word in _split_query(query)]


def _split_query(query: str) -> list[tuple[str, str]]:
    """Split a query into pairs of a phrase and a word, of which one is empty.

    Parts without a letter or digit are left out.
    """
    found = _WORD.findall(query[:_MAX_QUERY_CHARS].replace("\0", " "))
    return [part for part in found if _LETTERS.search(part[0] or part[1])]


def fts_query(query: str) -> str:
    """Return a query as an FTS5 expression. All words are quoted, so none is read as syntax.

    >>> fts_query('red "top hat" OR NEAR(')
    '"red"* "top hat" "OR"* "NEAR("*'
    """
    return " ".join(f'"{quoted}"' if quoted else f'"{word}"*' for quoted, word in _split_query(query))


def _iter_texts(run: RunLookup, samples: Mapping[str, Sample]) -> Iterator[tuple[str, str, str]]:
    """Yield sample, question ("" for the instruction) and text."""
    for sample in samples.values():
        yield sample.id, "", sample.instruction
        for probe in run.probes[sample.id]:
            if text := getattr(probe, "text", ""):
                yield sample.id, probe.id, text
