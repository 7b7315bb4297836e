"""What is allowed is not there, is nowhere, or is no finding."""

from __future__ import annotations

from tests.check.house import experiment


def broken():
    return experiment(
        allowed={
            "CF005 model": "the layers are one",
            "CF016 model.towre": "read by a plot",
            "CF999": "who knows",
        }
    )
