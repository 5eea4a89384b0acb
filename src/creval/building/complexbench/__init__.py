"""Building ComplexBench-Edit benchmarks."""
