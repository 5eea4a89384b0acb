"""Analysis of runs: scores, comparisons, agreement, corrections."""
