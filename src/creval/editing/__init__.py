"""Running editors: strategies, sessions and folders of edits."""
