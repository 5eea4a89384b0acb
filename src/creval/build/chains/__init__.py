"""Instructions of several steps, written by models for anyone's pictures."""
