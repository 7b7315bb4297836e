"""Golden configs: what a config comes to, kept as text that is read in a review."""
