"""Web pages: the viewer of a run (`creval view`) and the review of a built benchmark (`creval review`)."""
