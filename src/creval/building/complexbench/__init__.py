"""Builder of ComplexBench-Edit benchmarks."""
