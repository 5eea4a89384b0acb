"""Asking and measuring at scale."""
