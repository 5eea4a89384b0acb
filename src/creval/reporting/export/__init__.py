"""Export of a run: data frames, tables, a leaderboard JSON, and a README that describes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from creval.core.errors import CrevalError
from creval.core.formatting import escape_latex, escape_markdown
from creval.core.temporary import temporary_folder
from creval.reporting import missing_edits, sentences, tables
from creval.reporting.commands.score_output import score_text
from creval.reporting.commands.sources_output import source_records, sources_output
from creval.reporting.export import files, frames
from creval.reporting.export.leaderboard import leaderboard_json
from creval.reporting.export.readme import format_readme
from creval.reporting.result import flatten_record
from creval.reporting.table_formats import latex_from_table, markdown_from_table
from creval.stats.scorecard import Scorecard
from creval.stats.source_agreement import SourceComparison

if TYPE_CHECKING:
    from creval.store.run import Run

MARKER = ".creval-export"
"""A file in every export that lists the names of the other files."""


def export_run(
    run: Run,
    card: Scorecard,
    out: str | Path,
    *,
    resamples: int,
    force: bool = False,
    comparison: SourceComparison | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Export a run into a folder and return the names of the files.

    The files are moved into the folder only when all of them are complete.

    In a folder with an earlier export, only the files of that export are replaced. Any other folder that is not
    empty is refused unless `force` is set.
    """
    folder = Path(out)
    check_export_folder(folder, force=force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent) as made:
        names = _write_files(run, card, made, resamples, comparison, watch)
        _install_files(made, folder, names)
    return names


def check_export_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder with files that do not belong to an export."""
    if folder.exists() and not folder.is_dir():
        raise CrevalError(f"`out` {folder} is a file. Give a folder.")
    if force or not folder.is_dir() or (folder / MARKER).is_file() or not any(folder.iterdir()):
        return
    raise CrevalError(
        f"{folder} is not empty and is not an export. Give another `out`, or `force` to add the export's files to it."
    )


def _write_files(
    run: Run,
    card: Scorecard,
    folder: Path,
    resamples: int,
    comparison: SourceComparison | None,
    watch: Callable[[int, int], None] | None,
) -> list[str]:
    import polars

    count = run.count_verdicts() if watch else 0
    done = 0

    def seen(more: int) -> None:
        nonlocal done
        done += more
        if watch is not None and done:
            watch(done, max(count, done))

    files.write_frames(frames.iter_verdict_frames(run, card), folder, "verdicts", seen)
    whole = {
        "scores": frames.score_frame(card),
        "sample_scores": frames.sample_score_frame(run, card),
        "samples": frames.sample_frame(run, card),
    }
    if len(run.count_answers_by_voice()) > 1 and (answers := frames.answer_frame(run, card)) is not None:
        whole["answers"] = answers
    if comparison is not None:
        whole["sources"] = polars.DataFrame([flatten_record(one) for one in source_records(comparison)])
    for name, frame in whole.items():
        files.write_frames([frame], folder, name)
    gone = missing_edits.missing_from_table(run, card.table)
    notes = [
        *sentences.basis_notes(run, card, resamples),
        *missing_edits.missing_sentences(gone),
        *missing_edits.missing_policy_sentences(card.table, gone),
        sentences.decided_sentence(card),
        *sentences.gap_sentences(card),
    ]
    pasted = _write_tables(card, folder, notes)
    if comparison is not None:
        pasted += _write_sources(comparison, folder)
    board = json.dumps(leaderboard_json(card, run.manifest), indent=2, allow_nan=False)
    (folder / "leaderboard.json").write_text(board + "\n", encoding="utf-8")
    columns = {"verdicts": list(polars.read_parquet_schema(folder / "verdicts.parquet"))}
    columns |= {name: frame.columns for name, frame in whole.items()}
    page = format_readme(card, run.manifest, columns, pasted, notes)
    (folder / "README.md").write_text(page, encoding="utf-8")
    kinds = [f"{name}.{suffix}" for name in columns for suffix in ("parquet", "csv")]
    return ["README.md", "leaderboard.json", *kinds, *pasted]


def _write_tables(card: Scorecard, folder: Path, notes: list[str]) -> list[str]:
    """Write a table per level as Markdown and as LaTeX."""
    (folder / "tables").mkdir()
    names = []
    for level in card.table.schema.levels:
        shown = tables.select_groups(card, [level.name])
        if not shown:
            continue
        stem = "tables/" + re.sub(r"[^A-Za-z0-9_-]", "-", level.plural)
        page = score_text(card, shown, notes, latex=False, model_groups=card.model_groups)
        pasted = score_text(card, shown, ["\\usepackage{booktabs}", *notes], latex=True, model_groups=card.model_groups)
        for suffix, text in ((".md", page), (".tex", pasted)):
            (folder / f"{stem}{suffix}").write_text(text, encoding="utf-8")
            names.append(f"{stem}{suffix}")
    return names


def _write_sources(comparison: SourceComparison, folder: Path) -> list[str]:
    """Write the scores of several sources side by side, in Markdown, LaTeX and JSON."""
    output = sources_output(comparison)
    notes = [*output.sentences, *output.notes]
    page = "\n".join([*map(markdown_from_table, output.tables), *(f"{escape_markdown(note)}\n" for note in notes)])
    pasted = "\n".join([*(f"% {escape_latex(note)}" for note in notes), *map(latex_from_table, output.tables)])
    content = json.dumps(output.as_json(), indent=2, allow_nan=False) + "\n"
    made = {"tables/sources.md": page, "tables/sources.tex": pasted, "sources.json": content}
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(made)


def _install_files(made: Path, folder: Path, names: list[str]) -> None:
    """Move the files into the folder, replacing an earlier export."""
    folder.mkdir(exist_ok=True)
    marker = folder / MARKER
    before = marker.read_text(encoding="utf-8").splitlines() if marker.is_file() else []
    for name in names:
        place = folder / name
        if place.is_dir() or (place.parent.exists() and not place.parent.is_dir()):
            raise CrevalError(
                f"{place} cannot be written: a folder has this name, or its folder is a file. Move or delete it."
            )
    marker.write_text("".join(f"{name}\n" for name in {*before, *names}), encoding="utf-8")
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (made / name).replace(folder / name)
    for name in set(before) - set(names):
        if re.fullmatch(r"(tables/)?[A-Za-z0-9_.-]+", name) and ".." not in name:
            (folder / name).unlink(missing_ok=True)
    marker.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
