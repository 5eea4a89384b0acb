"""The public Python API: one function for each command."""
