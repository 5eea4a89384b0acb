"""Touchstone: drawn scenes of which everything is known, so that the right answer is known too."""
