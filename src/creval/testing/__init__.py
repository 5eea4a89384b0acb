"""Fake server to rehearse with, offline."""
