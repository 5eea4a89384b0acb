"""A run to numbers: scores, comparisons, agreement, corrections."""
