"""Builder of ICE-Bench items."""
