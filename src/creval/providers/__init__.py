"""Reaching models: HTTP, wire formats, specs, prices and the Hugging Face hub."""
