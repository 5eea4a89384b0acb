"""The HTML report of a run: one self-contained file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from creval.analysis.published_scores import PublishedScores
from creval.core.formatting import pluralise
from creval.providers.catalog import describe_judge
from creval.reporting import headline, missing_edits, published_tables, run_facts, sentences, tables
from creval.reporting.html.charts import build_charts, sources_chart
from creval.reporting.html.gallery import build_gallery
from creval.reporting.html.template import render_page
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.plots import describe_basis
from creval.stats.scorecard import Scorecard
from creval.stats.source_agreement import SourceComparison
from creval.store.manifest import benchmark_title
from creval.store.provenance import read_provenance
from creval.store.run import Run

_MAX_COLUMNS = 20  # columns of the score table
SAMPLES_PER_SECTION = 6
"""Samples of each kind in the gallery."""


def report_page(
    run: Run,
    card: Scorecard,
    resamples: int,
    *,
    samples_per_section: int = SAMPLES_PER_SECTION,
    link: Path | None = None,
    comparison: SourceComparison | None = None,
    watch: Callable[[int, int], None] = lambda _, __: None,
    published: PublishedScores | None = None,
) -> str:
    """Return the report as HTML: scores, plots, samples with images, and facts about the run.

    Images are embedded or, if `link` is given, linked relative to that folder.
    """
    sections = build_gallery(run, card, samples_per_section, link, watch)
    manifest = run.manifest
    samples = dict.fromkeys(card.table.samples)
    gone = missing_edits.missing_from_table(run, card.table)
    return render_page(
        "report.html",
        "data:" if link is None else "data: 'self' file:",
        title=_page_title(card, manifest),
        best=headline.headline_sentence(card),
        decided=sentences.decided_sentence(card),
        strengths=headline.strengths_and_weaknesses(card),
        scores=_score_tables(card),
        notes=[
            *sentences.basis_notes(run, card, resamples),
            *sentences.gap_sentences(card),
            *sentences.voice_sentences(run, card),
            *sentences.zero_width_sentences(card),
            *sentences.missing_interval_sentences(
                card, tables.select_groups(card, [one.name for one in card.table.schema.levels])
            ),
            *missing_edits.missing_sentences(gone),
            *missing_edits.missing_policy_sentences(card.table, gone),
        ],
        published=[] if published is None else list(published_tables.published_tables(published, card, _groups(card))),
        published_notes=(
            []
            if published is None
            else published_tables.published_sentences(published, card, str(manifest["judge"] or ""))
        ),
        charts=[
            *([sources_chart(comparison)] if comparison else []),
            *build_charts(card, describe_basis(card, manifest), read_provenance(manifest), published),
        ],
        sections=sections,
        models=card.models,
        settings=run_facts.run_facts_table(run),
        prompts=manifest.get("prompts", {}),
        unanswered=run_facts.unanswered_tables(run, card.models, samples),
        missing_edits=missing_edits.missing_table(gone),
        missing_images=run_facts.missing_images_table(run, card.models, samples),
    )


def output_page(title: str, output: CommandOutput) -> str:
    """Return the output of one command as an HTML page."""
    return render_page("findings.html", title=title, found=output)


def _page_title(card: Scorecard, manifest: Mapping[str, Any]) -> str:
    judged = f"judged by {describe_judge(manifest['judge'])}" if manifest["judge"] else "measured"
    return f"{benchmark_title(manifest)}: {pluralise(len(card.models), 'model')}, {judged}"


def _groups(card: Scorecard) -> tables.SampleGroups:
    """Return the overall group and the groups of the coarsest level."""
    level = next((level.name for level in card.table.schema.levels if level.groups_samples), None)
    return tables.select_groups(card, ["overall"] if level is None else ["overall", level])


def _score_tables(card: Scorecard) -> list[OutputTable]:
    """Return one table of the overall scores and the coarsest level, or several tables if it is too wide."""
    levels, shown = card.table.schema.levels, _groups(card)
    if len(shown) * len(tables.visible_columns(card)) <= _MAX_COLUMNS:
        return list(tables.score_tables(card, shown, card.model_groups, width=10**6, ranking_first=True))
    once = card.table.distinct_groups()
    made = [
        (level.name, group)
        for level in levels
        if level.groups_samples and level.mean_of
        for group in card.groups(level.name)
        if group in once[level.name]
    ]
    parts = (tables.score_tables(card, part, card.model_groups, ranking_first=True) for part in (shown[:1], made))
    return [grid for part in parts for grid in part]
