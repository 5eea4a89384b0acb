"""Editors that call an HTTP API."""
