"""What is wrong with how arrays are laid out: pure functions of names and sizes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

from fdlkit import suggest
from fdlkit.sharding.layout import AxisRules, divisors, mesh_spec

MeshShape = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class NamedArray:
    """A parameter or an activation, with the logical names of its dims.

    Attributes:
      path: What a person knows it by: `params/layers/block/mlp/up/kernel`.
      shape: Its dims.
      names: The logical name of each dim; None: the array has none.
      module: The Flax path of the module that makes it.
    """

    path: str
    shape: tuple[int, ...]
    names: tuple[str | None, ...] | None
    module: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class BadNames:
    """More names than dims, or one name twice.

    Attributes:
      text: Which of the two, with the numbers.
    """

    text: str


@dataclasses.dataclass(frozen=True)
class UnknownName:
    """A logical name that no rule has.

    Attributes:
      name: The name.
      meant: `did you mean 'embed'?`; None if there is no guess.
    """

    name: str
    meant: str | None


@dataclasses.dataclass(frozen=True)
class Indivisible:
    """A dim that the mesh cannot cut into equal parts.

    Attributes:
      dim: Which, from 0.
      name: Its logical name; None if it has none.
      size: Its size.
      parts: In how many parts the mesh would cut it.
      axes: The mesh axes that would.
    """

    dim: int
    name: str | None
    size: int
    parts: int
    axes: tuple[str, ...]

    @property
    def padded(self) -> int:
        """The next size that would do."""
        return -(-self.size // self.parts) * self.parts

    @property
    def waste(self) -> float:
        """What padding it would add, as a share of the size."""
        return self.padded / self.size - 1 if self.size else math.inf

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that would do, the nearest first."""
        below = self.size - self.size % self.parts
        return tuple(
            sorted(
                (n for n in (below, below + self.parts) if n > 0),
                key=lambda n: abs(n - self.size),
            )
        )

    @property
    def cuts(self) -> tuple[int, ...]:
        """In how many parts it could be cut instead, the most first.

        Only divisors of the parts: the rest of the devices can then go to another axis.
        """
        both = math.gcd(self.size, self.parts)
        return tuple(n for n in reversed(divisors(both)) if n < self.parts)


@dataclasses.dataclass(frozen=True)
class Dropped:
    """A rule that is not applied, because an earlier dim has its mesh axes.

    Attributes:
      dim: The dim that stays whole.
      name: Its logical name.
      axes: The mesh axes that the rule would cut it over, of more than one device.
      taken_by: The logical name of the dim that has them.
    """

    dim: int
    name: str
    axes: tuple[str, ...]
    taken_by: str


Fault = BadNames | UnknownName | Indivisible | Dropped


def axes_of(entry: str | Sequence[str] | None) -> tuple[str, ...]:
    """The mesh axes of a rule, or of an entry of a `PartitionSpec`."""
    return (entry,) if isinstance(entry, str) else tuple(entry or ())


def parts_of(axes: Sequence[str], mesh: MeshShape) -> int:
    """In how many parts some mesh axes cut a dim."""
    return math.prod(mesh.get(axis, 1) for axis in axes)


def dim_axes(array: NamedArray, rules: AxisRules) -> tuple[tuple[str, ...], ...]:
    """The mesh axes of each dim, as Flax reads the rules; all empty without names."""
    if array.names is None:
        return ((),) * len(array.shape)
    spec = mesh_spec(array.names, rules)
    return tuple(axes_of(entry) for entry in spec)


def faults(array: NamedArray, rules: AxisRules, mesh: MeshShape) -> Iterator[Fault]:
    """Everything that is wrong with one array's names under rules on a mesh.

    Args:
      array: The array.
      rules: Rules that `rule_faults` finds nothing wrong with.
      mesh: The size of each mesh axis.
    """
    if array.names is None:
        return
    bad = bad_names(array.names, array.shape)
    if bad is not None:
        yield BadNames(bad)
        return
    known = {logical for logical, _ in rules}
    for name in array.names:
        if name is not None and name not in known:
            yield UnknownName(name, suggest.hint(name, sorted(known)))
    cut = dim_axes(array, rules)
    for dim, (name, size, axes) in enumerate(
        zip(array.names, array.shape, cut, strict=True)
    ):
        parts = parts_of(axes, mesh)
        if size % parts:
            yield Indivisible(dim, name, size, parts, axes)
    yield from _dropped(array.names, cut, rules, mesh)


def bad_names(names: Sequence[str | None], shape: Sequence[int]) -> str | None:
    """What makes names unfit for an array of a shape; None if they fit."""
    if len(names) != len(shape):
        return (
            f"{len(names)} logical names {_listed(names)} for {len(shape)} "
            f"dims {tuple(shape)}"
        )
    twice = sorted({n for n in names if n is not None and names.count(n) > 1})
    if twice:
        return f"the logical name {twice[0]!r} is there twice: {_listed(names)}"
    return None


def _listed(names: Sequence[str | None]) -> str:
    return f"({', '.join(name or 'None' for name in names)})"


def _dropped(
    names: Sequence[str | None],
    cut: Sequence[tuple[str, ...]],
    rules: AxisRules,
    mesh: MeshShape,
) -> Iterator[Dropped]:
    for dim, name in enumerate(names):
        if name is None or parts_of(cut[dim], mesh) > 1:
            continue
        for logical, entry in rules:
            if logical == name and cut[dim] == axes_of(entry) != ():
                break  # it is applied, so that later ones are not asked
            wanted = [axis for axis in axes_of(entry) if mesh.get(axis, 1) > 1]
            if logical != name or not wanted:
                continue
            holders = [
                other
                for other, axes in zip(names, cut, strict=True)
                if other is not None and set(axes) & set(axes_of(entry))
            ]
            if holders:
                yield Dropped(dim, name, tuple(wanted), holders[0])
                break


@dataclasses.dataclass(frozen=True)
class RuleFault:
    """A rule that cannot be used.

    Attributes:
      index: Its place among the rules.
      logical: Its logical axis.
      kind: `unknown`: a mesh axis that is not there; `twice`: one mesh axis twice;
        `shape`: it is no pair of a name and mesh axes.
      axis: The mesh axis, or the rule itself as text.
      meant: `did you mean 'fsdp'?`; None if there is no guess.
    """

    index: int
    logical: str
    kind: str
    axis: str
    meant: str | None = None


def rule_faults(
    rules: Sequence[object], axes: Sequence[str]
) -> tuple[list[RuleFault], AxisRules]:
    """What is wrong with rules, and the rules with that taken away.

    Args:
      rules: Pairs of a logical axis and mesh axes.
      axes: The names of the mesh axes.

    Returns:
      The faults, and rules in which a mesh axis that cannot be used is none: whatever
      else is wrong can then be looked for.
    """
    found = []
    usable: list[tuple[str, str | tuple[str, ...] | None]] = []
    for index, rule in enumerate(rules):
        pair = _as_pair(rule)
        if pair is None:
            found.append(RuleFault(index, "", "shape", repr(rule)))
            continue
        logical, names = pair
        kept: list[str] = []
        for name in names:
            if name in kept:
                found.append(RuleFault(index, logical, "twice", name))
            elif name not in axes:
                meant = suggest.hint(name, sorted(axes))
                found.append(RuleFault(index, logical, "unknown", name, meant))
            else:
                kept.append(name)
        usable.append((logical, tuple(kept) or None))
    return found, tuple(usable)


def _as_pair(rule: object) -> tuple[str, tuple[str, ...]] | None:
    if not isinstance(rule, list | tuple) or len(rule) != 2:
        return None
    logical, entry = rule
    names = (entry,) if isinstance(entry, str) else entry or ()
    if not isinstance(logical, str) or not isinstance(names, list | tuple):
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    return logical, tuple(names)
