"""The shared trainer: state, step, loop, checkpoints, evaluation."""
