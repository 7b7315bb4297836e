"""The variables that an experiment trains and carries: shapes, axes and decay."""

from __future__ import annotations

import dataclasses
from typing import Any

import flax.linen as nn
import jax

from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.run.decay import Decay, weight_decay
from fdlkit.sharding.layout import tree_path
from fdlkit.train.frozen import frozen_paths
from fdlkit.train.trainer import Trainer


@dataclasses.dataclass(frozen=True)
class Variable:
    """One array of a model.

    Attributes:
      path: Where it is, its collection first: `params/embed/embedding`.
      dtype: What it is stored in.
      shape: Its dimensions.
      axes: The logical axis of each; None where it has none.
      decay: What weight decay does to it; None of what is not trained.
      frozen: Whether the optimizer leaves it as it is.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    decay: Decay | None
    frozen: bool = False

    def __str__(self) -> str:
        sizes = (
            f"{axis}={size}" if axis else str(size)
            for axis, size in zip(self.axes, self.shape, strict=True)
        )
        text = f"{self.dtype}[{', '.join(sizes)}]"
        if self.frozen:
            return f"{text}  frozen"
        return text if self.decay is None else f"{text}  weight_decay: {self.decay}"


def variables(config: Any) -> tuple[Variable, ...]:
    """Every variable of an experiment's model, told abstractly, on no device.

    Raises:
      UserError: The experiment cannot be built, or its parts do not fit together.
    """
    trainer = build(config)
    if not isinstance(trainer, Trainer):
        raise UserError(f"it builds a {type(trainer).__name__}, not an experiment")
    return variables_of(trainer)


def variables_of(trainer: Trainer) -> tuple[Variable, ...]:
    """The same of a trainer that is built.

    Raises:
      UserError: Its parts do not fit together.
    """
    setup = trainer.setup_on(trainer.mesh.abstract())
    boxed = dict(setup.shapes.variables)
    decays = weight_decay(
        trainer.optimizer,
        setup.state.params,
        learning_rate=trainer.learning_rate,
        num_train_steps=trainer.num_train_steps,
    )
    by_path = {
        tree_path(path): decay
        for path, decay in jax.tree_util.tree_leaves_with_path({"params": decays})
    }
    still = {f"params/{path}" for path in frozen_paths(setup.state.opt_state)}
    return tuple(
        _variable(tree_path(path), leaf, by_path, still)
        for path, leaf in jax.tree_util.tree_leaves_with_path(boxed, is_leaf=_is_box)
    )


def _variable(
    path: str, leaf: Any, decays: dict[str, Decay], still: set[str]
) -> Variable:
    array = leaf.value if _is_box(leaf) else leaf
    axes = tuple(leaf.names) if _is_box(leaf) else (None,) * len(array.shape)
    return Variable(
        path,
        str(array.dtype),
        tuple(array.shape),
        axes,
        decays.get(path),
        frozen=path in still,
    )


def _is_box(leaf: Any) -> bool:
    return isinstance(leaf, nn.Partitioned)
