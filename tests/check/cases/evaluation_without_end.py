"""Evaluation data that repeats for ever, training data that ends too early."""

from __future__ import annotations

from tests.check.house import data, experiment


def broken():
    evaluation = data("eval")
    evaluation.num_epochs = None
    return experiment(eval_data=evaluation, train_data=data(num_epochs=2))
