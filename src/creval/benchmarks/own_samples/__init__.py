"""Your own samples: a table of images and instructions, with optional yes/no questions."""
