"""The page of search results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from creval.core.formatting import escape_control
from creval.store.lookup import RunLookup
from creval.store.run import VerdictRow
from creval.web.common.pages import PAGE_SIZE, link, paginate
from creval.web.viewer.search_index import EXPLANATION, KINDS, MAX_COUNTED, TextIndex, search_terms
from creval.web.viewer.snapshot import Snapshot

_CONTEXT_CHARS = 90  # shown on each side of a match


class SearchResult(NamedTuple):
    """One result of a search."""

    where: str
    href: str
    excerpt: Markup


def search_page(snapshot: Snapshot, run: RunLookup, index: TextIndex, query: str, page_number: str) -> dict[str, Any]:
    """Return the template variables of the results: instructions, questions and explanations that match a query."""
    wanted = search_terms(query)
    totals = {kind: index.count(query, kind) if wanted else 0 for kind in KINDS}
    page = paginate(page_number, max(totals.values()), "/search", {"q": query})
    parts = []
    for kind, total in totals.items():
        hits = index.find(query, kind, PAGE_SIZE, page.first_line - 1) if total else []
        rows = run.verdicts_by_row([hit.row for hit in hits]) if kind == EXPLANATION else {}
        found = [
            _explanation_result(rows[hit.row], wanted) if hit.row else _text_result(snapshot, *hit[:2], wanted)
            for hit in hits
            if hit.row in rows or hit.sample in snapshot.samples
        ]
        parts.append((f"{kind}s".capitalize(), total, found))
    return {"parts_found": parts, "page": page, "wanted": wanted, "most": MAX_COUNTED}


def _text_result(snapshot: Snapshot, sample: str, probe: str, terms: Sequence[str]) -> SearchResult:
    if not probe:
        href = link("/sample", id=sample)
        return SearchResult(sample, href, highlight_excerpt(snapshot.samples[sample].instruction, terms))
    asked = next((item.probe for item in snapshot.sample_items(sample) if item.probe.id == probe), None)
    href = link("/question", sample=sample, id=probe)
    return SearchResult(f"{sample} · {probe}", href, highlight_excerpt(getattr(asked, "text", ""), terms))


def _explanation_result(verdict: VerdictRow, terms: Sequence[str]) -> SearchResult:
    where = f"{verdict.edit.sample} · {verdict.probe} · {verdict.edit.model}"
    href = link("/question", sample=verdict.edit.sample, id=verdict.probe, model=verdict.edit.model)
    answer = f" · {verdict.raw_answer}" if verdict.raw_answer else ""
    return SearchResult(f"{where}{answer}", href, highlight_excerpt(verdict.explanation, terms))


def highlight_excerpt(whole: str, terms: Sequence[str]) -> Markup:
    """Return the part of a text around the first match, with all search terms marked."""
    parts = [re.escape(word) for word in terms]
    pattern = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
    first = pattern.search(whole)
    start = max(0, (first.start() if first else 0) - _CONTEXT_CHARS)
    end = min(len(whole), (first.end() if first else 0) + 2 * _CONTEXT_CHARS)
    shown = escape_control(whole[start:end])
    marked = Markup("…") if start else Markup("")
    at = 0
    for match in pattern.finditer(shown):
        marked += escape(shown[at : match.start()])
        marked += Markup("<mark>{}</mark>").format(match[0])
        at = match.end()
    marked += escape(shown[at:])
    return marked + ("…" if end < len(whole) else "")
