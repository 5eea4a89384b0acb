"""Builder of CREval benchmarks."""
