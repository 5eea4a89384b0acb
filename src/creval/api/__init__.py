"""The functions that `creval` exports: one for each command."""
