"""Finding a config by what a person types: `experiments/lm.py:base`."""
