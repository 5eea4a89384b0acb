"""What is measured, on pictures alone: pixels, boxes."""
