"""Running of editors: strategies, sessions and output folders."""
