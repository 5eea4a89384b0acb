"""Paid calls to models: settings, limits, retries, journal, cost estimates and text generation."""
