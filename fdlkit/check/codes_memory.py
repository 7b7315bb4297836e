"""The findings of the bytes level."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="BY001",
        name="parameters whole on every device that could be cut",
        severity="warning",
        why=(
            "Where a mesh has axes that cut parameters, an array that none of them "
            "cuts is on every device in full, with its gradient and the optimizer's "
            "moments. The share is by bytes of all parameters, so it is the same "
            "number in every type. Under 2 % nothing is said: scales and biases cost "
            "more to gather than to keep."
        ),
    ),
)
