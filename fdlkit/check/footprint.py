"""The bytes of one device: parameters, optimizer, batch, and what a step works with."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
from jax.sharding import PartitionSpec

from fdlkit.check import batches, layouts, liveness, spreading
from fdlkit.check.layouts import MeshShape
from fdlkit.check.spreading import Cut
from fdlkit.sharding.layout import AxisRules, tree_path
from fdlkit.train.setup import Shapes, state_layout


@dataclasses.dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes of one device.

    Attributes:
      parameters: And the model's other variables.
      optimizer: The optimizer's state.
      average: The average of the parameters that evaluations use; 0 without one.
      batch: A training batch.
      working: An estimate of the most that a step needs beside these: activations,
        gradients and temporaries; see `liveness`. None if the step has no program.
    """

    parameters: int
    optimizer: int
    average: int
    batch: int
    working: int | None

    @property
    def state(self) -> int:
        """What is there between steps."""
        return self.parameters + self.optimizer + self.average

    @property
    def total(self) -> int:
        """All of it."""
        return self.state + self.batch + (self.working or 0)


@dataclasses.dataclass(frozen=True)
class Whole:
    """A parameter that every device has whole, and that could be cut.

    Attributes:
      path: The parameter.
      shape: Its dims.
      bytes: Its bytes.
      dim: The dim that could be cut.
      axis: The mesh axis that could cut it.
    """

    path: str
    shape: tuple[int, ...]
    bytes: int
    dim: int
    axis: str


def footprint(
    shapes: Shapes, step: Any, *, rules: AxisRules, mesh: MeshShape
) -> Footprint:
    """What one device holds.

    Args:
      shapes: Of the run's arrays.
      step: The jaxpr of a training step of `(state, batch)`; None: no estimate.
      rules: What mesh axes a logical axis is cut over.
      mesh: The size of each mesh axis.

    Raises:
      UserError: A logical axis that no rule knows.
    """
    layout = state_layout(shapes, rules)
    state = shapes.state
    rows = batches.axes(rules)
    batch_cuts = [
        (rows, *spreading.whole(leaf.shape[1:]))
        for leaf in jax.tree.leaves(shapes.batch)
    ]
    working = None
    if step is not None:
        cuts = [*_cuts(state, layout), *batch_cuts]
        working = liveness.working_bytes(step, cuts, mesh)
    return Footprint(
        parameters=_bytes(state.params, layout.params, mesh)
        + _bytes(state.model_state, layout.model_state, mesh),
        optimizer=_bytes(state.opt_state, layout.opt_state, mesh),
        average=_bytes(state.ema, layout.ema, mesh),
        batch=sum(
            spreading.bytes_of(leaf.shape, leaf.dtype.itemsize, cut, mesh)
            for leaf, cut in zip(jax.tree.leaves(shapes.batch), batch_cuts, strict=True)
        ),
        working=working,
    )


def _cuts(tree: Any, specs: Any) -> list[Cut]:
    leaves = jax.tree.leaves(tree)
    flat = jax.tree.leaves(specs, is_leaf=lambda x: isinstance(x, PartitionSpec))
    return [
        (
            *(layouts.axes_of(entry) for entry in spec),
            *spreading.whole(leaf.shape[len(spec) :]),
        )
        for leaf, spec in zip(leaves, flat, strict=True)
    ]


def _bytes(tree: Any, specs: Any, mesh: MeshShape) -> int:
    return sum(
        spreading.bytes_of(leaf.shape, leaf.dtype.itemsize, cut, mesh)
        for leaf, cut in zip(jax.tree.leaves(tree), _cuts(tree, specs), strict=True)
    )


def whole_parameters(
    shapes: Shapes, *, rules: AxisRules, mesh: MeshShape, stacks: Collection[str]
) -> tuple[list[Whole], int]:
    """Parameters that no mesh axis cuts although one could, the most bytes first.

    Mesh axes that cut no parameter at all (`data`) are not held against any: copies
    are then meant. Nor are those that cut stacked layers alone (`stage`).

    Args:
      shapes: Of the run's arrays.
      rules: What mesh axes a logical axis is cut over.
      mesh: The size of each mesh axis.
      stacks: The logical names of the dims that layers are stacked along.

    Returns:
      The parameters, and the bytes of all parameters, neither cut.

    Raises:
      UserError: A logical axis that no rule knows.
    """
    params = state_layout(shapes, rules).params
    cuts = _cuts(shapes.state.params, params)
    leaves = jax.tree_util.tree_leaves_with_path(shapes.state.params)
    names = names_of(shapes)
    cutting: dict[str, None] = {}
    for (path, _), cut in zip(leaves, cuts, strict=True):
        known = names.get(f"params/{tree_path(path)}", (None,) * len(cut))
        for name, axes in zip(known, cut, strict=True):
            if name not in stacks:
                cutting |= dict.fromkeys(a for a in axes if mesh.get(a, 1) > 1)
    found = []
    total = 0
    for (path, leaf), cut in zip(leaves, cuts, strict=True):
        size = math.prod(leaf.shape) * leaf.dtype.itemsize
        total += size
        if any(mesh.get(axis, 1) > 1 for axes in cut for axis in axes):
            continue
        way = _way_to_cut(leaf.shape, cutting, mesh)
        if way is not None:
            found.append(Whole(f"params/{tree_path(path)}", leaf.shape, size, *way))
    return sorted(found, key=lambda one: -one.bytes), total


def _way_to_cut(
    shape: Sequence[int], axes: Mapping[str, None], mesh: MeshShape
) -> tuple[int, str] | None:
    """The largest dim that some axis divides, and the axis."""
    ways = [
        (size, dim, axis)
        for dim, size in enumerate(shape)
        for axis in axes
        if size % mesh[axis] == 0
    ]
    if not ways:
        return None
    _, dim, axis = max(ways, key=lambda way: (way[0], -way[1]))
    return dim, axis


def names_of(shapes: Shapes) -> dict[str, tuple[str | None, ...]]:
    """The logical names of each parameter's dims, by its path."""
    is_box = lambda x: isinstance(x, nn.Partitioned)  # noqa: E731
    leaves = jax.tree_util.tree_leaves_with_path(dict(shapes.variables), is_leaf=is_box)
    return {tree_path(path): tuple(leaf.names) for path, leaf in leaves if is_box(leaf)}
