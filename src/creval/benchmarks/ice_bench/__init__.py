"""ICE-Bench: 31 tasks in six dimensions."""
