"""Output of each analysis command: sentences, tables, notes and JSON."""
