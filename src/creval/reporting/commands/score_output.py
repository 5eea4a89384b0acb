"""Output of `creval score`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from creval.core.errors import require_known
from creval.core.formatting import escape_control, escape_markdown
from creval.reporting import edit_costs, missing_edits, published_tables, sentences, tables
from creval.reporting.latex import LatexCells, latex_table
from creval.reporting.output import CommandOutput, OutputTable
from creval.reporting.result import Result
from creval.stats.scorecard import Scorecard
from creval.store.provenance import read_provenance

if TYPE_CHECKING:
    import polars

    from creval.analysis.correction import CorrectedScores
    from creval.analysis.published_scores import PublishedScores
    from creval.store.run import Run


def score_output(
    run: Run,
    card: Scorecard,
    groups: tables.SampleGroups,
    resamples: int,
    corrected: CorrectedScores | None = None,
    grids: Iterable[OutputTable] = (),
    published: PublishedScores | None = None,
) -> CommandOutput:
    """Return the output of `creval score`: significant differences, the given tables, and notes."""
    manifest = run.manifest
    gone = missing_edits.missing_from_table(run, card.table)
    notes = [
        *sentences.basis_notes(run, card, resamples, "¹ best, ² second best"),
        *sentences.gap_sentences(card),
        *sentences.voice_sentences(run, card),
        *sentences.zero_width_sentences(card),
        *sentences.missing_interval_sentences(card, groups),
    ]
    data = tables.scorecard_json(card, manifest, groups) | missing_edits.missing_json(gone, card.table)
    made = read_provenance(manifest)
    data["makers"] = edit_costs.cost_json({n: made[n] for n in card.models if n in made})
    if corrected is not None:
        notes += sentences.correction_sentences(run, corrected)
        data |= tables.corrected_json(corrected, groups)
    if published is not None:
        grids = [*grids, *published_tables.published_tables(published, card, groups)]
        notes += published_tables.published_sentences(published, card, str(manifest["judge"] or ""))
        data |= published_tables.published_json(published, card, groups)
    rules = [*missing_edits.missing_sentences(gone), *missing_edits.missing_policy_sentences(card.table, gone)]
    return CommandOutput([sentences.decided_sentence(card), *rules], list(grids), data, notes)


def score_text(
    card: Scorecard,
    groups: tables.SampleGroups,
    rules: list[str],
    *,
    latex: bool,
    model_groups: tables.ModelGroups | None = None,
    wide: bool = False,
    cells: LatexCells = LatexCells.FULL,
) -> str:
    """Return the scores as LaTeX or Markdown, with notes on how missing edits count."""
    if latex:
        head = "".join(f"% {escape_control(line)}\n" for line in rules)
        return head + latex_table(card, groups, model_groups or {}, wide=wide, cells=cells)
    foot = "".join(f"\n{escape_markdown(line)}\n" for line in rules)
    values_only = cells is LatexCells.VALUES
    return tables.markdown_table(card, groups, model_groups or {}, wide=wide, values_only=values_only) + foot


@dataclass(frozen=True, repr=False)
class ScoreResult(Result[Scorecard]):
    """Scores of a run with their intervals. `value` is the scorecard."""

    def frame(self, by: str | None = None) -> polars.DataFrame:
        """Return a row for each level, group, model and metric, or for those of one level."""
        return self.value.frame(by)

    def to_markdown(self, by: str = "overall") -> str:
        """Return the table of a level or group as Markdown."""
        return self._text(by, latex=False)

    def to_latex(self, by: str = "overall", cells: str = "full") -> str:
        """Return the table of a level or group as LaTeX, for the package booktabs.

        `cells` is full, compact (the interval as a half-width, coverage only below 99.5 %) or values.
        """
        return self._text(by, latex=True, cells=LatexCells(require_known("kind of cells", cells, list(LatexCells))))

    def _text(self, by: str, *, latex: bool, cells: LatexCells = LatexCells.FULL) -> str:
        groups = tables.select_groups(self.value, [by])
        return score_text(self.value, groups, list(self.sentences[1:]), latex=latex, cells=cells)
