"""A config as a reader sees it."""
