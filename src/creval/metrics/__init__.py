"""Metrics computed from images, without a judge."""
