"""Touchstone: a synthetic benchmark with known truth, with its editors, its judges and calibration trials."""
