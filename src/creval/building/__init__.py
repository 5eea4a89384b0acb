"""Builders that create benchmarks from images."""
