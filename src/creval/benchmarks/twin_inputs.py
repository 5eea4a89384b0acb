"""Real sources and their synthetic twins, in benchmarks built from the output of `creval build twins`.

Layout: `twins.jsonl`, with the id of a sample, its `input` (real or synthetic), and the `pair` to which its source
belongs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from creval.core.benchmark import Dataset, DatasetIssue
from creval.core.errors import CrevalError
from creval.core.files import clean_text, read_json_lines
from creval.core.schema import Level

TWIN_FILE = "twins.jsonl"
REAL, SYNTHETIC = "real", "synthetic"
LEVEL = Level("input", "inputs", (REAL, SYNTHETIC))
_GAP = Level("input_delta", "input_deltas", (f"{SYNTHETIC}-{REAL}",), difference_of=("input", SYNTHETIC, REAL))


def with_twin_inputs(dataset: Dataset) -> Dataset:
    """Return a dataset with the level `input` (real or synthetic), and with the difference between its two groups.

    The samples of a pair are one cluster, so the interval of the difference is paired.
    """
    try:
        inputs = _read_inputs(dataset.root / TWIN_FILE)
    except CrevalError as error:
        issue = DatasetIssue("twins", TWIN_FILE, note=f"{error} Real and synthetic sources are not distinguished.")
        return replace(dataset, issues=(*dataset.issues, issue))
    if not any(sample.id in inputs for sample in dataset.samples):
        return dataset
    samples = [
        replace(sample, tags={**sample.tags, LEVEL.name: kind}, derived_from=f"twins {pair}")
        if (found := inputs.get(sample.id)) and (kind := found[0]) and (pair := found[1])
        else sample
        for sample in dataset.samples
    ]
    # Not the last level of samples: samples are selected evenly over that one.
    places = [at for at, level in enumerate(dataset.levels) if level.groups_samples]
    at = places[-1] if places else len(dataset.levels)
    return replace(dataset, samples=tuple(samples), levels=(*dataset.levels[:at], LEVEL, *dataset.levels[at:], _GAP))


def _read_inputs(path: Path) -> dict[str, tuple[str, str]]:
    if not path.is_file():
        return {}
    rows = (row for _, row in read_json_lines(path))
    return {
        clean_text(row.get("id")): (clean_text(row.get("input")), clean_text(row.get("pair")))
        for row in rows
        if row.get("input") in LEVEL.groups
    }
