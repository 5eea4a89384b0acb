"""What the viewer and the review share: guard, templates, images, server."""
