"""ComplexBench-Edit: chains of dependent instructions."""
