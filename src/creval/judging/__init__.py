"""Judging of edits: plan, requests, workers, early stopping, replay."""
