"""Touchstone: a synthetic benchmark with known truth, its editors, judges and trials."""
