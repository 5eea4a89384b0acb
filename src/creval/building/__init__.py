"""Building benchmarks from images."""
