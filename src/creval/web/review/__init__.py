"""Pages for reviewing a built benchmark."""
