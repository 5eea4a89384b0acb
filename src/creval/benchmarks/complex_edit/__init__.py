"""Complex-Edit: instructions of complexity C1 to C8."""
