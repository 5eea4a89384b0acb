"""What an export's files and columns are, in words that go with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from creval import __version__
from creval.core.formatting import escape_markdown
from creval.providers.catalog import describe_judge
from creval.stats.scorecard import Scorecard
from creval.store.manifest import benchmark_title

FILES = {
    "verdicts": "one row a verdict: what one judge said in one repeat to one question on one edit",
    "answers": "one row for each question about an edit with several answers: their majority or mean",
    "scores": "one row a cell: each level, group, model and metric",
    "sample_scores": "one row for each model, sample and metric; several draws are averaged",
    "samples": "one row a sample",
    "sources": "one row for each model by each of several runs and score files, set side by side",
}
COLUMNS = {
    "model": "the editing model, with its strategy if it has one",
    "sample": "the sample's id",
    "draw": "which of several edits of one sample, from 0",
    "probe": "the question's or measurement's id in its sample",
    "metric": "the metric; in scores also the composite",
    "question": "the question's words; empty for what was measured",
    "reference": "the right answer, repaired; empty where there is none",
    "released": "the reference letter by letter as released",
    "weight": "the question's weight in its metric",
    "judge": "who answered; what was measured begins with gauge:",
    "repeat": "which of several answers of one judge, from 0",
    "variant": "a deliberate change of the question or the pictures; empty is the plain form",
    "status": "answered, or why there is no answer",
    "value": "in verdicts the answer as a number (yes is 1), in scores the score; empty: none",
    "said": "the answer as it was given; in answers the majority, or the mean of a scale, and how many of how many",
    "agreeing": "answers that stand for it: those of the majority, or all that a mean is of",
    "answers": "answers to the question, also those without a value",
    "explanation": "why, in the judge's words, or why there is no answer",
    "right": "whether the answer is the reference; empty without an answer or a reference",
    "level": "overall, or by which tag samples are grouped",
    "group": "the group in its level",
    "low": "lower end of the 95 % interval over samples; empty below five samples",
    "high": "upper end of it",
    "scored": "questions that the value rests on",
    "total": "questions that it would rest on if all were answered",
    "coverage": "scored / total",
    "instruction": "what the model was told to do",
    "source": "in samples the source image's file name; in sample_scores the first sample with the same source image",
    "subsets": "the named subsets that it is in, joined by ;",
    "rank": "the model's rank in the source of scores",
    "places_low": "best rank that the model can hold",
    "places_high": "worst rank that the model can hold",
    "questions": "how many questions and measurements it has",
}


def format_readme(
    card: Scorecard,
    manifest: Mapping[str, Any],
    frames: Mapping[str, Sequence[str]],
    tables: Sequence[str],
    notes: Sequence[str],
) -> str:
    """The export's own page; `frames` are its frames with their columns."""
    judge = describe_judge(manifest["judge"]) or "none (measured)"
    lines = [
        f"# {escape_markdown(benchmark_title(manifest))}: scores of {len(card.models)} models",
        "",
        f"Exported by creval {__version__}. Judge: {escape_markdown(judge)}.",
        "",
        *(f"{escape_markdown(note)}\n" for note in notes),
        "## Files",
        "",
        "| file | what it is |",
        "|---|---|",
        *(f"| `{name}.parquet`, `{name}.csv` | {FILES[name]} |" for name in frames),
        "| `leaderboard.json` | all cells, places and who cannot be told apart, for programs |",
        *(f"| `{name}` | {_describe_table(name)} |" for name in tables),
        "",
        "Parquet holds texts as they are. In CSV (UTF-8) a text that a spreadsheet would take for "
        "a formula (it begins with = + - @, and is no number) has an apostrophe in front, and "
        "control characters are U+FFFD.",
        "",
    ]
    for name, columns in frames.items():
        lines += [f"## {name}", "", "| column | what it is |", "|---|---|"]
        lines += [f"| {escape_markdown(one)} | {COLUMNS.get(one, 'a tag of the sample')} |" for one in columns]
        lines.append("")
    return "\n".join(lines)


def _describe_table(name: str) -> str:
    if name.endswith(".json"):
        return "several runs and score files side by side, with their agreement, for programs"
    what = "needs `\\usepackage{booktabs}`" if name.endswith(".tex") else "to paste into a page"
    return f"values with intervals and coverage, best bold, second underlined; {what}"
