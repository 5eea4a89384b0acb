"""The run folder: written once, lost never."""

from creval.store.readonly import Held, held_measures, held_texts
from creval.store.run import Answer, Run, open_run
from creval.store.writer import DATABASE, Store

__all__ = ["DATABASE", "Answer", "Held", "Run", "Store", "held_measures", "held_texts", "open_run"]
