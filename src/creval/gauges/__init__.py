"""What is measured of pictures, without asking anybody: one file a gauge."""
