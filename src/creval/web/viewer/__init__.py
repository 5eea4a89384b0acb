"""Pages for looking at a run."""
