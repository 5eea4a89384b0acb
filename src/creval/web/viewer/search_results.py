"""What a search found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from creval.core.formatting import visible
from creval.store.lookup import CloseUp, Heard
from creval.web.common.pages import PAGE, link, paged
from creval.web.viewer.search import EXPLANATION, KINDS, MANY, Index, words
from creval.web.viewer.snapshot import Snapshot

_AROUND = 90  # characters on each side of what was found


class Found(NamedTuple):
    """Something that a search found."""

    where: str
    href: str
    excerpt: Markup


def search(at: Snapshot, run: CloseUp, index: Index, given: str, number: str) -> dict[str, Any]:
    """What holds all words of a search: instructions, questions, explanations."""
    wanted = words(given)
    totals = {kind: index.count(given, kind) if wanted else 0 for kind in KINDS}
    page = paged(number, max(totals.values()), "/search", {"q": given})
    parts = []
    for kind, total in totals.items():
        hits = index.find(given, kind, PAGE, page.first_line - 1) if total else []
        rows = run.rows([hit.row for hit in hits]) if kind == EXPLANATION else {}
        found = [
            _explanation(rows[hit.row], wanted) if hit.row else _text(at, *hit[:2], wanted)
            for hit in hits
            if hit.row in rows or hit.sample in at.samples
        ]
        parts.append((f"{kind}s".capitalize(), total, found))
    return {"parts_found": parts, "page": page, "wanted": wanted, "most": MANY}


def _text(at: Snapshot, sample: str, probe: str, wanted: Sequence[str]) -> Found:
    if not probe:
        href = link("/sample", id=sample)
        return Found(sample, href, excerpt(at.samples[sample].instruction, wanted))
    asked = next((item.probe for item in at.probes(sample) if item.probe.id == probe), None)
    href = link("/question", sample=sample, id=probe)
    return Found(f"{sample} · {probe}", href, excerpt(getattr(asked, "text", ""), wanted))


def _explanation(heard: Heard, wanted: Sequence[str]) -> Found:
    where = f"{heard.edit.sample} · {heard.probe} · {heard.edit.system}"
    href = link("/question", sample=heard.edit.sample, id=heard.probe, model=heard.edit.system)
    answer = f" · {heard.said}" if heard.said else ""
    return Found(f"{where}{answer}", href, excerpt(heard.explanation, wanted))


def excerpt(whole: str, wanted: Sequence[str]) -> Markup:
    """The part of a text in which the first of these words stands, with all of them marked."""
    parts = [re.escape(word) for word in wanted]
    pattern = re.compile("|".join(parts) or r"(?!)", re.IGNORECASE)
    first = pattern.search(whole)
    start = max(0, (first.start() if first else 0) - _AROUND)
    end = min(len(whole), (first.end() if first else 0) + 2 * _AROUND)
    shown = visible(whole[start:end])
    marked = Markup("…") if start else Markup("")
    at = 0
    for match in pattern.finditer(shown):
        marked += escape(shown[at : match.start()])
        marked += Markup("<mark>{}</mark>").format(match[0])
        at = match.end()
    marked += escape(shown[at:])
    return marked + ("…" if end < len(whole) else "")
