"""Pages over a run: `creval view`."""
