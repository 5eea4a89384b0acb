"""The run folder: written once, lost never."""

from creval.store.run import Answer, Run, open_run
from creval.store.store import DATABASE, Store

__all__ = ["DATABASE", "Answer", "Run", "Store", "open_run"]
