"""Editors behind an HTTP API."""
