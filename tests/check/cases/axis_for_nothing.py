"""A mesh axis that no array of the model is cut over."""

from __future__ import annotations

from tests.check.house import experiment

MESH = {"data": 2, "tensor": 4}


def broken():
    return experiment()
