"""A run as a page of HTML: one file that opens anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from creval.core.formatting import many
from creval.report import headline, missing, run_facts, sentences, tables
from creval.report.html.charts import charts
from creval.report.html.gallery import gallery
from creval.report.html.template import rendered
from creval.report.output import Findings, Grid
from creval.report.plots import about
from creval.stats.scorecard import Scorecard
from creval.store.provenance import makers
from creval.store.run import Run

_WIDEST = 20  # columns of the table of scores
EACH = 6
"""Samples of each kind in the gallery."""


def page(
    run: Run,
    card: Scorecard,
    resamples: int,
    *,
    each: int = EACH,
    link: Path | None = None,
    watch: Callable[[int, int], None] = lambda _, __: None,
) -> str:
    """The scores of a run, what they rest on, and samples with pictures and answers.

    Pictures are thumbnails inside the page or, with `link`, its folder, links to files from there.
    """
    shelves = gallery(run, card, each, link, watch)
    manifest = run.manifest
    samples = dict.fromkeys(card.table.samples)
    gone = missing.of_table(run, card.table)
    return rendered(
        "report.html",
        "data:" if link is None else "data: 'self' file:",
        title=_title(card, manifest),
        best=headline.best(card),
        decided=sentences.decided(card),
        strengths=headline.strengths(card),
        scores=_scores(card),
        notes=[
            sentences.basis(card, manifest, resamples, "bold best, underlined second"),
            sentences.strictness(card, int(manifest.get("problems", 0))),
            *sentences.unsupported(card.table),
            *sentences.voices(run, card),
            *sentences.flat(card),
            *sentences.few(card, tables.chosen(card, [one.name for one in card.table.card.levels])),
            *missing.told(gone),
            *missing.rule(card.table, gone),
        ],
        charts=charts(card, about(card, manifest), makers(manifest)),
        shelves=shelves,
        systems=card.systems,
        asked=run_facts.asked(run),
        prompts=manifest.get("prompts", {}),
        unanswered=run_facts.unanswered(run, card.systems, samples),
        gone=missing.grid(gone),
        absent=run_facts.absent(run, card.systems, samples),
    )


def findings_page(title: str, found: Findings) -> str:
    """What one command found, as a page."""
    return rendered("findings.html", title=title, found=found)


def _title(card: Scorecard, manifest: Mapping[str, Any]) -> str:
    judged = f"judged by {manifest['judge']}" if manifest["judge"] else "measured"
    return f"{manifest['benchmark']}: {many(len(card.systems), 'model')}, {judged}"


def _scores(card: Scorecard) -> list[Grid]:
    """The whole and the groups of the coarsest level beside each other, as papers print them; where
    that is too wide, a table for each of these groups, and each that is made of several finer."""
    levels = card.table.card.levels
    level = next((level.name for level in levels if level.tagged), None)
    shown = tables.chosen(card, ["overall"] if level is None else ["overall", level])
    if len(shown) * len(tables.columns(card)) <= _WIDEST:
        return list(tables.grids(card, shown, {}, wide=10**6, leading=True))
    once = card.table.distinct()
    made = [
        (level.name, group)
        for level in levels
        if level.tagged and level.of
        for group in card.groups(level.name)
        if group in once[level.name]
    ]
    return [
        grid for part in (shown[:1], made) for grid in tables.grids(card, part, {}, leading=True)
    ]
