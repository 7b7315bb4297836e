"""An evaluation that leaves out what is left after its last full batch."""

from __future__ import annotations

from tests.check.house import data, experiment


def broken():
    evaluation = data("eval")
    evaluation.batch_size = 24
    evaluation.remainder = "drop"
    return experiment(eval_data=evaluation)
