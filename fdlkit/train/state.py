"""What a training run carries from step to step, all of it in its checkpoints."""

from __future__ import annotations

from typing import Any

import flax.struct


@flax.struct.dataclass
class TrainState:
    """Everything that the next step depends on, but for the data.

    A tree of this shape also holds what there is one of for each array: its
    abstract shape, its `PartitionSpec`, its `NamedSharding`.

    Attributes:
      step: How many updates were made, [] int32.
      params: The trained variables.
      model_state: The model's other variable collections.
      opt_state: The optimizer's.
      window: Sums since the last log point, [len(WINDOW)] float32: a run that is
        stopped between two log points still logs true means.
      ema: An average of the parameters, of their shapes; None: there is none.
      loss_scale: What a dynamic loss scale keeps, [2] float32; None: there is none.
      skipped: How many steps made no update, [len(SKIPPED)] int32; None: none may.
    """

    step: Any
    params: Any
    model_state: Any
    opt_state: Any
    window: Any
    ema: Any = None
    loss_scale: Any = None
    skipped: Any = None

    @property
    def eval_params(self) -> Any:
        """What is evaluated and sampled from: the average, where there is one."""
        return self.params if self.ema is None else self.ema
