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
    Code(
        code="BY002",
        name="state that does not fit a device",
        severity="error",
        why=(
            "Parameters and optimizer state alone are more than the memory of a "
            "device of this kind. This is arithmetic and no estimate."
        ),
    ),
    Code(
        code="BY003",
        name="step that may not fit a device",
        severity="warning",
        why=(
            "State, batch and an estimate of what the step computes with come to more "
            "than the memory of a device of this kind. The estimate runs through the "
            "step's program with sizes in place of numbers; the compiler may do "
            "better or worse."
        ),
    ),
)
