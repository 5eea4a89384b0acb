"""A run from judges: plan, requests, workers, early stopping, replay."""
