"""CREval: yes/no questions in three metrics."""
