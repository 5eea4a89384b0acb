"""Code shared by the viewer and the review: request guard, templates, images, server."""
