"""The viewer: web pages of a run."""
