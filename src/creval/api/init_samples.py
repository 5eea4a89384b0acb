"""Set up a benchmark of your own samples from images or a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from creval.building.sample_table import SampleTable, init_sample_table
from creval.core.errors import CrevalError
from creval.core.formatting import escape_control, pluralise
from creval.reporting.output import CommandOutput
from creval.reporting.result import Result

_MAX_SHOWN = 3  # places shown for each problem


def init_samples(
    folder: str | Path,
    *,
    images: str | Path | None = None,
    table: str | Path | None = None,
    questions: bool = False,
    name: str = "",
) -> Result[SampleTable]:
    """Create a benchmark of your own samples in a folder, or check an existing one.

    `images` is a folder of images, `table` a CSV or JSONL file of samples. Images outside of the folder are copied
    into it. With `questions`, a table of yes/no questions to fill in is written, too. `name` is the benchmark's title.
    """
    if not str(folder):
        raise CrevalError("give the folder of a benchmark.")
    found = init_sample_table(
        Path(folder),
        Path(images) if images is not None else None,
        Path(table) if table is not None else None,
        questions=questions,
        name=name,
    )
    data = {
        "table": str(found.path),
        "rows": found.rows,
        "samples": len(found.samples),
        "questions": sum(len(sample.questions) for sample in found.samples),
        "copied": found.copied,
        "unreadable": list(found.unreadable),
        "problems": found.issue_counts,
    }
    records = [{"problem": issue.rule, "where": issue.location, "note": issue.note} for issue in found.issues]
    return Result(found, CommandOutput(list(_sentences(found, Path(folder))), [], data), records)


def _sentences(found: SampleTable, folder: Path) -> Iterator[str]:
    shown = escape_control(str(found.path))
    copied = f", {pluralise(found.copied, 'image')} copied" if found.copied else ""
    verb = "written" if found.written else "checked"
    yield f"{shown} is {verb}: {len(found.samples):,} of {pluralise(found.rows, 'row')} can be used{copied}."
    for reason in found.unreadable[:_MAX_SHOWN]:
        yield escape_control(f"{reason}; the row is left out.")
    for rule, count in found.issue_counts.items():
        places = [issue for issue in found.issues if issue.rule == rule]
        lines = ", ".join(place.location.rpartition(" ")[2] for place in places[:_MAX_SHOWN])
        file, more = places[0].location.partition(",")[0], ", ..." if count > _MAX_SHOWN else ""
        of = f"{count:,} of {found.rows:,} rows" if file == found.path.name else pluralise(count, "row")
        yield escape_control(f"{of} in {file}: {rule} (line {lines}{more}): {places[0].note}.")
    yield _next_step(found, quote(str(folder)))


def _next_step(found: SampleTable, folder: str) -> str:
    if not found.samples:
        return f"Next: fill in {escape_control(found.path.name)}, then check it with creval init samples {folder}"
    protocol = "" if any(sample.questions for sample in found.samples) else " --protocol viescore"
    return f"Next: creval judge {folder} --edits outputs/MODEL --judge openai:gpt-4o{protocol} --run runs/first"
