"""README of an export: descriptions of its files and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creval import __version__
from creval.core.formatting import escape_markdown
from creval.providers.catalog import describe_judge
from creval.stats.scorecard import Scorecard
from creval.store.manifest import benchmark_title

FILES = {
    "verdicts": "one row per verdict: the answer of one judge in one repeat to one question about one edit",
    "answers": "one row per edit and question with several answers: their majority or mean",
    "scores": "one row per level, group, model and metric",
    "sample_scores": "one row per model, sample and metric; several draws are averaged",
    "samples": "one row per sample",
    "sources": "one row per model and source, if several runs and score files were compared",
}
COLUMNS = {
    "model": "the editing model, with its strategy if it has one",
    "sample": "the id of the sample",
    "draw": "index of the edit if a sample has several edits, from 0",
    "probe": "id of the question or measurement within its sample",
    "metric": "the metric; in scores also the composite",
    "question": "the text of the question; empty for measurements",
    "reference": "the right answer, repaired; empty if there is none",
    "released": "the reference exactly as released",
    "weight": "the question's weight in its metric",
    "judge": "the judge; for measurements gauge: and the name of the metric",
    "repeat": "index of the repeat if a judge answered several times, from 0",
    "variant": "a deliberate change of the question or the images; empty for the unchanged form",
    "status": "answered, or why there is no answer",
    "value": "in verdicts the answer as a number (yes is 1), in scores the score; empty if there is none",
    "said": "the answer as given; in answers the majority or mean, and how many answers agree",
    "agreeing": "number of answers in the majority, or averaged by the mean",
    "answers": "number of answers to the question, including those without a value",
    "explanation": "the judge's explanation, or why there is no answer",
    "right": "whether the answer is the reference; empty without an answer or a reference",
    "level": "overall, or the tag by which samples are grouped",
    "group": "the group within its level",
    "low": "lower end of the 95 % interval over samples; empty below five samples",
    "high": "upper end of the interval",
    "scored": "number of answered questions behind the value",
    "total": "number of questions, answered or not",
    "coverage": "scored / total",
    "instruction": "the editing instruction",
    "source": "in samples the file name of the source image; in sample_scores the first sample with that image",
    "subsets": "named subsets that contain the sample, joined by ;",
    "rank": "rank of the model in the source of scores",
    "places_low": "best rank that the model can hold",
    "places_high": "worst rank that the model can hold",
    "questions": "number of questions and measurements",
}


def format_readme(
    card: Scorecard,
    manifest: Mapping[str, Any],
    frames: Mapping[str, Sequence[str]],
    tables: Sequence[str],
    notes: Sequence[str],
) -> str:
    """Return the README of an export. `frames` are its data frames with their columns."""
    judge = describe_judge(manifest["judge"]) or "none (measured)"
    lines = [
        f"# {escape_markdown(benchmark_title(manifest))}: scores of {len(card.models)} models",
        "",
        f"Exported by creval {__version__}. Judge: {escape_markdown(judge)}.",
        "",
        *(f"{escape_markdown(note)}\n" for note in notes),
        "## Files",
        "",
        "| file | content |",
        "|---|---|",
        *(f"| `{name}.parquet`, `{name}.csv` | {FILES[name]} |" for name in frames),
        "| `leaderboard.json` | all scores, ranks, and groups of models without significant difference, as JSON |",
        *(f"| `{name}` | {_describe_table(name)} |" for name in tables),
        "",
        "Parquet files hold texts unchanged. In CSV files (UTF-8), a text that a spreadsheet would read as a formula "
        "(it starts with = + - @ and is not a number) has an apostrophe in front. Control characters are replaced "
        "by U+FFFD.",
        "",
    ]
    for name, columns in frames.items():
        lines += [f"## {name}", "", "| column | content |", "|---|---|"]
        lines += [f"| {escape_markdown(one)} | {COLUMNS.get(one, 'a tag of the sample')} |" for one in columns]
        lines.append("")
    return "\n".join(lines)


def _describe_table(name: str) -> str:
    if name.endswith(".json"):
        return "several runs and score files side by side, with their agreement, for programs"
    what = "needs `\\usepackage{booktabs}`" if name.endswith(".tex") else "for web pages and READMEs"
    return f"values with intervals and coverage, best bold, second best underlined; {what}"
