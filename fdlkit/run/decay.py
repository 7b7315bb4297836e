"""Which parameters an optimizer decays, and by how much: found out, on no device.

Decay is what a step takes off a parameter whose gradient is zero. So the optimizer is
asked: its update is traced at the parameters' true shapes and paths, which is when
masks and labels are decided, and run with gradients of zero on parameters that hold
one number each (`uniform`). That needs no knowledge of how the optimizer is made: a
chain, `masked`, `multi_transform`, a schedule or one's own transformation will do.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from fdlkit.run.uniform import UNKNOWN, Value, evaluate, work

Kind = Literal["none", "of_rate", "a_step", "varies", "coupled", "unknown"]

# A schedule may begin at zero and an optimizer may act at every nth step only, so
# more than one step is looked at: the first ones, and some at these parts of the run.
_FIRST_STEPS = 4
_MORE_STEPS = 64
_PARTS = (0.25, 0.5, 0.75)

# An optimizer of so many parameters that more operations would have to be run (a second
# is good for some 200,000) is not looked at for all of these steps.
_MOST_WORK = 1_000_000

# Results that differ by less than this part of them are equal, and digits are shown to
# it: schedules compute in float32, and constants are rounded to the parameter's type.
_TOLERANCE = 1e-5

# What the parameters hold: decay by a rate takes twice as much off twice the value.
_FILLS = (1.0, 2.0)


@dataclasses.dataclass(frozen=True)
class Decay:
    """How one parameter is decayed.

    Attributes:
      kind: `none`: not at all. `of_rate`: by `rate` times the learning rate times the
        parameter. `a_step`: by `rate` times the parameter. `varies`: in proportion to
        the parameter, but by neither. `coupled`: not in proportion to it, as when the
        optimizer rescales the decay like a gradient. `unknown`: it could not be told.
      rate: See `kind`; else 0.
    """

    kind: Kind
    rate: float = 0.0

    def __str__(self) -> str:
        texts = {
            "of_rate": f"{self.rate:.5g} * learning_rate",
            "a_step": f"{self.rate:.5g} a step",
        }
        return texts.get(self.kind, self.kind)


def weight_decay(
    optimizer: Any,
    params: Any,
    *,
    learning_rate: Callable[[Any], Any] | float | None = None,
    num_train_steps: int,
) -> Any:
    """How each parameter is decayed.

    Args:
      optimizer: An Optax transformation.
      params: The parameters, abstract ones will do.
      learning_rate: What the optimizer was given as its own, if that is known.
      num_train_steps: How many updates the run makes.

    Returns:
      A tree like `params` with a `Decay` for each.
    """
    leaves, tree = jax.tree.flatten(params)
    try:
        probe = _Probe(optimizer, params)
        runs = [probe.run(fill, num_train_steps) for fill in _FILLS]
    except Exception:  # noqa: BLE001 - what cannot be traced here cannot be told
        return jax.tree.unflatten(tree, [Decay("unknown")] * len(leaves))
    steps = sorted(runs[0].keys() & runs[1].keys())
    rates = _rates(learning_rate, steps)
    found = []
    for index, leaf in enumerate(leaves):
        one, two = ([run[step][index] for step in steps] for run in runs)
        judged = _judged(one, two, rates, _tolerance(leaf.dtype))
        if judged.kind == "none" and probe.is_cut_short:
            judged = Decay("unknown")
        found.append(judged)
    return jax.tree.unflatten(tree, found)


class _Probe:
    """An optimizer's functions, traced at the true shapes.

    Attributes:
      is_cut_short: Whether it may act at a step that was not looked at.
    """

    def __init__(self, optimizer: Any, params: Any):
        self._count = len(jax.tree.leaves(params))
        init, state = jax.make_jaxpr(optimizer.init, return_shape=True)(params)
        self._init = init
        self._update = jax.make_jaxpr(optimizer.update)(params, state, params)
        most = _MOST_WORK // (len(_FILLS) * max(work(self._update), 1))
        self._more_steps = min(max(most, _FIRST_STEPS), _MORE_STEPS)
        self.is_cut_short = False
        self._whole = [
            index
            for index, array in enumerate(jax.tree.leaves(state))
            if array.shape == () and jnp.issubdtype(array.dtype, jnp.integer)
        ]

    def run(self, fill: float, num_train_steps: int) -> dict[int, list[Value]]:
        """What steps add to parameters that stay at `fill`, by the step's number."""
        values = [fill] * self._count
        state = evaluate(self._init, values)
        found: dict[int, list[Value]] = {}
        steps = min(num_train_steps, _FIRST_STEPS)
        at = 0
        while at < steps:
            found[at], state = self._step(state, values)
            at += 1
            if at == steps == _FIRST_STEPS and not self._is_plain(state, at):
                steps = min(num_train_steps, self._more_steps)
                self.is_cut_short = steps < min(num_train_steps, _MORE_STEPS)
        counters = [i for i in self._whole if state[i] == at]
        for part in _PARTS if counters else ():
            later = int(num_train_steps * part)
            if later > at:
                moved = [*state]
                for index in counters:
                    moved[index] = later
                found[later], _ = self._step(moved, values)
        return found

    def _step(
        self, state: Sequence[Value], values: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        done = evaluate(self._update, [*[0.0] * self._count, *state, *values])
        return done[: self._count], done[self._count :]

    def _is_plain(self, state: Sequence[Value], steps: int) -> bool:
        """Whether every whole number of the state counts the steps."""
        return all(state[index] == steps for index in self._whole)


def _rates(learning_rate: Any, steps: Sequence[int]) -> list[Value]:
    """The learning rate at each step; `UNKNOWN` where it is not known."""
    if learning_rate is None:
        return [UNKNOWN] * len(steps)
    if not callable(learning_rate):
        return [float(learning_rate)] * len(steps)
    try:
        traced = jax.make_jaxpr(learning_rate)(jax.ShapeDtypeStruct((), jnp.int32))
    except Exception:  # noqa: BLE001 - then it is not known
        return [UNKNOWN] * len(steps)
    return [evaluate(traced, [step])[0] for step in steps]


def _tolerance(dtype: Any) -> float:
    if not jnp.issubdtype(dtype, jnp.floating):
        return _TOLERANCE
    return max(_TOLERANCE, 4 * float(jnp.finfo(dtype).eps))


def _judged(
    one: Sequence[Value],
    two: Sequence[Value],
    rates: Sequence[Value],
    tolerance: float,
) -> Decay:
    """What the changes of a parameter, at 1 and at 2, say at each step."""

    def near(x: float, y: float) -> bool:
        return math.isclose(x, y, rel_tol=tolerance)

    def shown(rate: float) -> float:
        return float(f"{rate:.{round(-math.log10(tolerance))}g}")

    changes = [*one, *two]
    if not all(isinstance(x, float) and math.isfinite(x) for x in changes):
        return Decay("unknown")
    if not any(changes):
        return Decay("none")
    if not all(near(2 * x, y) for x, y in zip(one, two, strict=True)):
        return Decay("coupled")
    acting = [(-x, rate) for x, rate in zip(one, rates, strict=True) if x]
    if all(isinstance(rate, float) and rate for _, rate in acting):
        shares = [x / rate for x, rate in acting]
        if all(near(share, shares[0]) for share in shares):
            return Decay("of_rate", shown(shares[0]))
    if all(near(x, acting[0][0]) for x, _ in acting):
        return Decay("a_step", shown(acting[0][0]))
    return Decay("varies")
