"""Output of each analysis command: sentences, tables and JSON."""
