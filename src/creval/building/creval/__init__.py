"""Building CREval benchmarks."""
