"""A run's training step as a program that another process can compile."""

from __future__ import annotations

from typing import Any

import jax
from jax import export

from fdlkit.sharding.layout import tree_path
from fdlkit.train.setup import Setup, using


def exported_step(setup: Setup, platform: str) -> export.Exported:
    """The program of a training step, with the layout of all that goes in and out.

    Its arguments are a mapping from the path of each array of the state, and a batch:
    a compiler that complains of one names it so.

    Args:
      setup: Of the run, on an abstract mesh.
      platform: What it is for: `tpu` or `cuda`.
    """
    leaves = jax.tree_util.tree_leaves_with_path(setup.state)
    structure = jax.tree.structure(setup.state)
    names = [tree_path(path) for path, _ in leaves]

    def named(tree: Any) -> dict[str, Any]:
        return dict(zip(names, jax.tree.leaves(tree), strict=True))

    def train_step(state: dict[str, Any], batch: Any) -> Any:
        given = jax.tree.unflatten(structure, [state[name] for name in names])
        after, *told = setup.train_step(given, batch)
        return named(after), *told

    shardings = named(setup.shardings)
    step = jax.jit(
        train_step,
        donate_argnums=0,
        in_shardings=(shardings, setup.batch_sharding),
        out_shardings=(shardings, setup.replicated, setup.replicated),
    )
    with using(setup.mesh, setup.rules):
        exported = export.export(step, platforms=(platform,))
        return exported(named(setup.state), dict(setup.batch))
