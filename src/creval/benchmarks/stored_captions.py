"""Captions of sources and ideal edits that `creval build captions` stores in a benchmark's folder.

Layout: `captions/captions.jsonl`, with id, source, target, and a digest of the instruction from which the target
caption was written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from creval.core.benchmark import Dataset, DatasetIssue
from creval.core.errors import CrevalError
from creval.core.files import clean_text, read_json_lines
from creval.core.sample import CAPTION_KINDS, Sample

CAPTION_FOLDER = "captions"
CAPTION_FILE = "captions.jsonl"


def read_caption_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a folder's caption file by sample, or {} if it does not exist."""
    path = folder / CAPTION_FILE
    return {clean_text(row.get("id")): row for _, row in read_json_lines(path)} if path.is_file() else {}


def captions_of(row: Mapping[str, Any], sample: Sample) -> dict[str, str]:
    """Return the captions in a row, or {} if a caption is missing or the sample's instruction has changed since."""
    found = {name: clean_text(row.get(name)).strip() for name in CAPTION_KINDS}
    return found if all(found.values()) and row.get("instruction") == instruction_digest(sample) else {}


def instruction_digest(sample: Sample) -> str:
    """Return a digest of a sample's instruction."""
    return hashlib.blake2b(sample.instruction.encode("utf-8", "replace"), digest_size=8).hexdigest()


def with_stored_captions(dataset: Dataset) -> Dataset:
    """Return a dataset with its stored captions. Samples that have captions of their own keep them."""
    try:
        rows = read_caption_rows(dataset.root / CAPTION_FOLDER)
    except CrevalError as error:
        issue = DatasetIssue("captions", CAPTION_FOLDER, note=f"{error} The stored captions are not used.")
        return replace(dataset, issues=(*dataset.issues, issue))
    if not rows:
        return dataset
    samples, outdated = list[Sample](), list[DatasetIssue]()
    for sample in dataset.samples:
        row = rows.get(sample.id)
        if row is None or sample.has_captions:
            samples.append(sample)
        elif captions := captions_of(row, sample):
            samples.append(replace(sample, captions={**sample.captions, **captions}))
        else:
            samples.append(sample)
            note = "its instruction was changed afterwards, or a caption is missing; creval build captions writes it"
            outdated.append(DatasetIssue("outdated captions", sample.id, note=note))
    return replace(dataset, samples=tuple(samples), issues=(*dataset.issues, *outdated))
