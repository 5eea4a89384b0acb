"""Metrics measured on images, without a judge."""
