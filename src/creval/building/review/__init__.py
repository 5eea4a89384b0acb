"""Review of built benchmarks: entries, verdicts and fields."""
