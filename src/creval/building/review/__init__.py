"""Reviewing built benchmarks: entries, verdicts and fields."""
