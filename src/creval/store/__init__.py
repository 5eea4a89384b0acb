"""Storage of runs: the database of a run folder, opened for reading or writing."""

from creval.store.readonly import StoredTexts, read_stored_metrics, read_stored_texts
from creval.store.run import Run, VerdictRow, open_run, run_folder
from creval.store.writer import DATABASE, RunWriter

__all__ = [
    "DATABASE",
    "Run",
    "RunWriter",
    "StoredTexts",
    "VerdictRow",
    "open_run",
    "read_stored_metrics",
    "read_stored_texts",
    "run_folder",
]
