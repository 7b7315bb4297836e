"""From logical axis names to where an array lives, checked before any compile."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import flax.linen as nn
import jax
from jax.sharding import NamedSharding, PartitionSpec

from fdlkit import suggest
from fdlkit.errors import UserError

AxisRules = Sequence[tuple[str, str | tuple[str, ...] | None]]

# The first rule that still has its mesh axes free wins, array by array, so an
# activation's `embed` is not split again where its `batch` holds `fsdp`.
DEFAULT_RULES: AxisRules = (
    ("batch", ("data", "fsdp")),
    ("layers", "stage"),
    ("vocab", "tensor"),
    ("heads", "tensor"),
    ("kv_heads", "tensor"),
    ("mlp", "tensor"),
    ("embed", "fsdp"),
    ("time", "context"),
    ("head_dim", None),
)


def mesh_spec(axes: Sequence[str | None], rules: AxisRules) -> PartitionSpec:
    """The mesh axes of an array whose dims have these logical axis names."""
    return nn.logical_to_mesh_axes(tuple(axes), tuple(rules)) or PartitionSpec()


def split_of(entry: str | tuple[str, ...] | None, mesh: Any) -> int:
    """In how many parts a dim with this `PartitionSpec` entry is cut."""
    names = (entry,) if isinstance(entry, str) else entry or ()
    return math.prod(mesh.shape[name] for name in names)


def check_rules(rules: AxisRules, mesh: Any) -> None:
    """Refuses a rule that names a mesh axis which is not there.

    Raises:
      UserError: Naming the rule and the axes there are.
    """
    for logical, entry in rules:
        names = (entry,) if isinstance(entry, str) else entry or ()
        for name in names:
            if name not in mesh.shape:
                raise UserError(
                    f"rules: logical axis {logical!r} is mapped to {name!r}, "
                    "which is not a mesh axis",
                    *_hints(name, mesh.shape),
                    f"mesh axes: {', '.join(mesh.shape)}",
                )


def _hints(name: str, known: Iterable[str]) -> list[str]:
    """A line that says which of the known axes was likely meant, if any."""
    meant = suggest.hint(name, sorted(known))
    return [meant] if meant else []


def check_divides(
    what: str,
    shape: Sequence[int],
    spec: PartitionSpec,
    *,
    mesh: Any,
    axes: Sequence[str | None] = (),
) -> None:
    """Refuses an array whose dims the mesh does not divide evenly.

    Args:
      what: What the array is, as the user knows it: a parameter's path.
      shape: Its dims.
      spec: The mesh axes of each dim.
      mesh: A mesh, or an abstract one.
      axes: Logical names of the dims, for the message.

    Raises:
      UserError: Naming the array, the dim, the mesh axes and sizes that work.
    """
    for dim, entry in enumerate(spec):
        parts = split_of(entry, mesh)
        if dim < len(shape) and shape[dim] % parts == 0:
            continue
        name = axes[dim] if dim < len(axes) and axes[dim] else f"dim {dim}"
        names = (entry,) if isinstance(entry, str) else entry or ()
        cut = " * ".join(f"{n}={mesh.shape[n]}" for n in names)
        size = shape[dim] if dim < len(shape) else 0
        below = size - size % parts
        near = [str(n) for n in (below, below + parts) if n > 0]
        cuts = [str(p) for p in divisors(math.gcd(size, parts))]
        raise UserError(
            f"{what} {tuple(shape)}: its {name} {size} is not a multiple of {parts} "
            f"(mesh {cut})",
            f"what would work: {name} {' or '.join(near)}, or a mesh that cuts it in "
            f"{' or '.join(cuts)}",
        )


def divisors(n: int) -> list[int]:
    """All divisors of a positive number, in order."""
    low = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return low + [n // d for d in reversed(low) if d * d != n]


def tree_path(path: Sequence[Any]) -> str:
    """A pytree path as `layers/block/mlp/up/kernel`."""
    return jax.tree_util.keystr(tuple(path), simple=True, separator="/")


def spec_tree(variables: Any, rules: AxisRules) -> Any:
    """Mesh axes of every array: a tree of `PartitionSpec` like unboxed `variables`.

    Args:
      variables: Arrays or abstract arrays, boxed with their logical axis names
        where they have some (`nn.with_logical_partitioning`); others are copied
        to every device.
      rules: What mesh axes a logical axis is cut over.

    Raises:
      UserError: A logical axis that no rule knows.
    """
    known = {logical for logical, _ in rules}

    def spec(path: Sequence[Any], leaf: Any) -> PartitionSpec:
        if not isinstance(leaf, nn.Partitioned):
            return PartitionSpec()
        for name in leaf.names:
            if name is not None and name not in known:
                raise UserError(
                    f"parameter {tree_path(path)}: no rule for its logical axis "
                    f"{name!r}",
                    *_hints(name, known),
                    f"rules: {', '.join(sorted(known))}",
                )
        return mesh_spec(leaf.names, rules)

    return jax.tree_util.tree_map_with_path(
        spec, variables, is_leaf=lambda x: isinstance(x, nn.Partitioned)
    )


def check_tree(
    boxed: Any, specs: Any, *, mesh: Any, rules: AxisRules, what: str = "parameter"
) -> None:
    """`check_divides` for every array of a tree.

    Raises:
      UserError: The first array that the mesh does not divide.
    """
    check_rules(rules, mesh)
    is_box = lambda x: isinstance(x, nn.Partitioned)  # noqa: E731
    leaves = jax.tree_util.tree_leaves_with_path(boxed, is_leaf=is_box)
    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    for (path, leaf), spec in zip(
        leaves, jax.tree.leaves(specs, is_leaf=is_spec), strict=True
    ):
        names = leaf.names if is_box(leaf) else ()
        shape = leaf.value.shape if is_box(leaf) else leaf.shape
        where = f"{what} {tree_path(path)}"
        check_divides(where, shape, spec, mesh=mesh, axes=names)


def like_parameters(tree: Any, params: Any, specs: Any) -> Any:
    """Specs for a tree that holds copies of the parameters (optimizer state).

    A leaf whose path ends like a parameter's and which has that parameter's shape
    (Adam's moments) is laid out like the parameter; any other is copied to every
    device. This works on paths, so a transformation that wraps, masks or
    partitions the tree needs no special case.

    Args:
      tree: Abstract arrays.
      params: Abstract parameters.
      specs: A `PartitionSpec` for each parameter.
    """
    is_spec = lambda x: isinstance(x, PartitionSpec)  # noqa: E731
    by_path: Mapping[tuple[str, ...], tuple[Any, PartitionSpec]] = {
        _names(path): (leaf.shape, spec)
        for (path, leaf), spec in zip(
            jax.tree_util.tree_leaves_with_path(params),
            jax.tree.leaves(specs, is_leaf=is_spec),
            strict=True,
        )
    }

    def spec(path: Sequence[Any], leaf: Any) -> PartitionSpec:
        names = _names(path)
        for start in range(len(names)):
            shape, found = by_path.get(names[start:], (None, PartitionSpec()))
            if shape == leaf.shape:
                return found
        return PartitionSpec()

    return jax.tree_util.tree_map_with_path(spec, tree)


def _names(path: Sequence[Any]) -> tuple[str, ...]:
    return tuple(jax.tree_util.keystr((key,), simple=True) for key in path)


def named(specs: Any, mesh: jax.sharding.Mesh) -> Any:
    """A tree of specs as a tree of `NamedSharding` on `mesh`."""
    return jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        specs,
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )
