"""Building Complex-Edit benchmarks."""
