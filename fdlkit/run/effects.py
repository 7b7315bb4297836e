"""What an experiment costs: told abstractly, on no device."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.train.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Effects:
    """What a config comes to when it is built.

    Attributes:
      parameters: How many numbers are trained.
      optimizer_bytes: What the optimizer keeps beside them, in all devices together.
      elements_per_step: Elements of the (first) loss in a global batch.
      unit: What an element of the loss is, in the plural: `tokens`.
      flops_per_step: Model FLOPs of one training step.
    """

    parameters: int
    optimizer_bytes: int
    elements_per_step: int
    unit: str
    flops_per_step: int


def effects(config: Any) -> Effects:
    """Builds an experiment and traces its step on an abstract mesh.

    Raises:
      UserError: It cannot be built, or its parts do not fit together.
    """
    trainer = build(config)
    if not isinstance(trainer, Trainer):
        raise UserError(f"it builds a {type(trainer).__name__}, not an experiment")
    setup = trainer.setup_on(trainer.mesh.abstract())
    arrays = jax.tree.leaves(setup.state.opt_state)
    first = setup.context["losses"][next(iter(trainer.losses))]
    return Effects(
        parameters=sum(math.prod(a.shape) for a in jax.tree.leaves(setup.state.params)),
        optimizer_bytes=sum(math.prod(a.shape) * a.dtype.itemsize for a in arrays),
        elements_per_step=math.prod(first.values.shape),
        unit=next(iter(trainer.losses.values())).unit,
        flops_per_step=setup.flops,
    )
