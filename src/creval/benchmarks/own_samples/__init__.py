"""One's own samples: a table of images and instructions, and yes/no questions if there are any."""
