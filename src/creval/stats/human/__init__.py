"""Human ratings: alignment with metrics, rater ceilings, weight fits."""
