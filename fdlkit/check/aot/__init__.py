"""Compiling a training step for a TPU slice that is not there."""
