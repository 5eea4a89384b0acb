"""Making benchmarks."""
