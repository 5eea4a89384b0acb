"""Building ICE-Bench items."""
