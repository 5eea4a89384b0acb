"""Yes/no questions about your own samples, from questions.csv, questions.jsonl or a field of samples.jsonl."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from creval.core.benchmark import IssueList
from creval.core.files import clean_text
from creval.core.probe import Question
from creval.core.scales import get_scale
from creval.core.table_files import column_name

COLUMNS = ("sample", "metric", "question", "reference", "weight")
DEFAULT_METRIC = "score"
"""The metric of questions without one."""
COMPOSITE = "mean"
"""The name of the mean of several metrics. It is reserved."""
_ALIASES = {"id": "sample", "text": "question", "answer": "reference"}
_MAX_METRICS = 20
_METRIC_NAME = re.compile(r"[\w .+()'-]{1,40}")
"""Names that need no escaping in any table format."""
_YES_NO = get_scale("yes/no")


class QuestionCollector:
    """Collector of the questions of each sample, in order. Problems become issues.

    The reference answer of a question is Yes by default.
    """

    def __init__(self, has_source: Mapping[str, bool], issues: IssueList) -> None:
        self._has_source, self._issues = has_source, issues
        self._left_out = {issue.item for issue in issues} - has_source.keys()
        self._counts: dict[tuple[str, str], int] = {}
        self.questions: dict[str, list[Question]] = {}
        self.metrics: dict[str, None] = {}

    def add_row(self, cells: Mapping[str, Any], where: str) -> None:
        """Add a row of a question table."""
        entry = {_ALIASES.get(name, name): value for name, value in cells.items()}
        sample = clean_text(entry.get("sample"))
        if sample not in self._has_source:
            note = "give the id of a usable sample" if sample else "name its sample in the column 'sample'"
            note = "the row of its sample is left out, too" if sample[:200] in self._left_out - {""} else note
            self._issues.add("question without a sample", where, f"{note}; the question is left out", sample[:200])
        else:
            self._add(sample, entry, where)

    def add_field(self, sample: str, given: object, where: str) -> None:
        """Add the questions in a sample's own field: texts, or objects with the fields of a question table."""
        if given is None:
            return
        for entry in given if isinstance(given, list) else [given]:
            fields = {"question": entry} if isinstance(entry, str) else entry
            if isinstance(fields, Mapping):
                named = ((column_name(str(name)), value) for name, value in fields.items())
                self._add(sample, {_ALIASES.get(name, name): value for name, value in named}, where)
            else:
                self._skip("unusable question", where, sample, "it must be a text or an object")

    def _skip(self, rule: str, where: str, sample: str, note: str, found: str = "") -> None:
        self._issues.add(rule, where, f"{note}; the question is left out", sample[:200], found[:100])

    def _add(self, sample: str, entry: Mapping[str, Any], where: str) -> None:
        metric, text = clean_text(entry.get("metric")) or DEFAULT_METRIC, clean_text(entry.get("question"))
        if not text:
            return self._skip("empty question", where, sample, "write it in the column 'question'")
        if metric.casefold() == COMPOSITE or not _METRIC_NAME.fullmatch(metric):
            note = f"a metric's name has up to 40 letters, digits, spaces and . + - ' ( ) _, and is not {COMPOSITE}"
            return self._skip("unusable metric", where, sample, note, metric)
        if metric not in self.metrics and len(self.metrics) == _MAX_METRICS:
            return self._skip("unusable metric", where, sample, f"there are more than {_MAX_METRICS} metrics", metric)
        given = entry.get("reference")
        released = ("Yes" if given else "No") if isinstance(given, bool) else clean_text(given) or "Yes"
        reference = _YES_NO.normalise_reference(released)
        if reference is None:
            return self._skip("unreadable reference", where, sample, "the reference must be Yes or No", released)
        weight = _parse_weight(entry.get("weight"))
        if weight is None:
            return self._skip(
                "unusable weight", where, sample, "a weight must be a number above 0", clean_text(entry.get("weight"))
            )
        number = self._counts[sample, metric] = self._counts.get((sample, metric), 0) + 1
        shows = ("source", "edit") if self._has_source[sample] else ("edit",)
        identity = f"{metric}/{number}"
        question = Question(identity, metric, text, "yes/no", reference, released, weight, f"Q{number}", shows=shows)
        self.questions.setdefault(sample, []).append(question)
        self.metrics[metric] = None
        return None


def _parse_weight(given: object) -> float | None:
    """Return a weight: 1 if none is given, None if it is not a usable number."""
    if given is None:
        return 1.0
    try:
        weight = float(given) if isinstance(given, int | float | str) and not isinstance(given, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return weight if 0 < weight < 1e6 else None
