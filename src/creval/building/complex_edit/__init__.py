"""Builder of Complex-Edit benchmarks."""
