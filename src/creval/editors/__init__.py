"""Running editing models."""
