"""Results to read and to pass on."""
