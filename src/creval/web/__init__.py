"""Pages over a run (`creval view`), and over what is to be reviewed."""
