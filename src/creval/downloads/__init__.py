"""Downloads of the benchmarks' official releases."""
