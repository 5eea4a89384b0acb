"""Editors: ways to run an image-editing model."""
