"""Learning rates that Optax has the parts of: a ramp, a rest, a decay to a floor.

A schedule is a function of the step, from 0 on, as Optax's are.
"""

from __future__ import annotations

import optax


def ramp_then_exponential(
    peak_value: float,
    *,
    ramp_steps: int,
    decay_start: int,
    decay_end: int,
    floor: float,
) -> optax.Schedule:
    """From 0 to the peak in a line, a rest, then exponentially down to a floor.

    With `t = (step - decay_start) / (decay_end - decay_start)` the decay is
    `peak_value * floor**t`: Pax's `LinearRampupExponentialDecay`.

    Args:
      peak_value: The rate from `ramp_steps` to `decay_start`.
      ramp_steps: How many steps the ramp takes; 0: there is none.
      decay_start: The first step of the decay.
      decay_end: The step that reaches the floor, where the rate stays.
      floor: The last rate, as a share of the peak.

    Raises:
      ValueError: The steps are not in order, or the floor is not above 0 and at most 1.
    """
    check_steps(ramp_steps, decay_start, decay_end)
    if not 0 < floor <= 1:
        raise ValueError(f"floor={floor} is not a share of the peak in (0, 1]")
    decay = optax.exponential_decay(
        peak_value,
        transition_steps=decay_end - decay_start,
        decay_rate=floor,
        end_value=peak_value * floor,
    )
    return ramp_then(decay, peak_value, ramp_steps, decay_start)


def ramp_then_cosine(
    peak_value: float,
    *,
    ramp_steps: int,
    decay_start: int,
    decay_end: int,
    floor: float,
) -> optax.Schedule:
    """From 0 to the peak in a line, a rest, then half a cosine down to a floor.

    With `t = (step - decay_start) / (decay_end - decay_start)` the decay is
    `peak_value * (floor + (1 - floor) * (1 + cos(pi * t)) / 2)`: Pax's
    `LinearRampupCosineDecay`.

    Args:
      peak_value: The rate from `ramp_steps` to `decay_start`.
      ramp_steps: How many steps the ramp takes; 0: there is none.
      decay_start: The first step of the decay.
      decay_end: The step that reaches the floor, where the rate stays.
      floor: The last rate, as a share of the peak.

    Raises:
      ValueError: The steps are not in order, or the floor is not in [0, 1].
    """
    check_steps(ramp_steps, decay_start, decay_end)
    if not 0 <= floor <= 1:
        raise ValueError(f"floor={floor} is not a share of the peak in [0, 1]")
    decay = optax.cosine_decay_schedule(
        peak_value, decay_steps=decay_end - decay_start, alpha=floor
    )
    return ramp_then(decay, peak_value, ramp_steps, decay_start)


def ramp_then(
    decay: optax.Schedule, peak_value: float, ramp_steps: int, decay_start: int
) -> optax.Schedule:
    """A ramp and a rest before a decay, which counts from its own first step."""
    rest = optax.constant_schedule(peak_value)
    if not ramp_steps:
        return optax.join_schedules([rest, decay], [decay_start])
    ramp = optax.linear_schedule(0.0, peak_value, ramp_steps)
    return optax.join_schedules([ramp, rest, decay], [ramp_steps, decay_start])


def check_steps(ramp_steps: int, decay_start: int, decay_end: int) -> None:
    """Refuses steps that are not in order."""
    if not 0 <= ramp_steps <= decay_start < decay_end:
        raise ValueError(
            f"ramp_steps={ramp_steps}, decay_start={decay_start} and "
            f"decay_end={decay_end} are not in order: 0 <= ramp <= start < end"
        )
