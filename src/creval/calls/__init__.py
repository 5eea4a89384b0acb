"""Many paid calls: settings, limits, retries, journal, estimates, text generation."""
