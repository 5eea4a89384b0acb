"""A fake server for offline rehearsals and tests."""
