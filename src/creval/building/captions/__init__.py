"""Builder of captions of sources and ideal edits, for metrics that compare a change with texts."""
