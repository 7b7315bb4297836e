"""Machines by name: `v4:4x4x4` is 64 chips of 32 GiB each, `v4-128` a slice of them."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping

from fdlkit import suggest
from fdlkit.errors import UserError

# GiB of one device, as its maker states them, and devices to a chip.
KINDS: Mapping[str, tuple[float, int]] = {
    "v3": (16, 2),
    "v4": (32, 1),
    "v5e": (16, 1),
    "v5p": (95, 1),
    "v6e": (32, 1),
    "a100-40": (40, 1),
    "a100-80": (80, 1),
    "h100": (80, 1),
    "h200": (141, 1),
    "b200": (180, 1),
}

# How Google Cloud names slices of each generation ("TPU configurations" in its
# documentation): by TensorCores, of which a chip has two, on a torus of three
# dimensions; or by chips, on one of two.
CORES_TO_A_CHIP: Mapping[str, int] = {"v4": 2, "v5p": 2, "v5e": 1, "v6e": 1}
DIMENSIONS: Mapping[str, int] = {"v4": 3, "v5p": 3, "v5e": 2, "v6e": 2}
_ALIASES: Mapping[str, str] = {"v5litepod": "v5e"}
# The most chips of one slice.
_POD: Mapping[str, int] = {"v4": 4096, "v5p": 8960, "v5e": 256, "v6e": 256}
# A cube of 4x4x4 chips is what slices of three dimensions are made of; smaller ones
# are parts of one, and two-dimensional ones have a shape for each size.
_PARTS_OF_A_CUBE = {4: (2, 2, 1), 8: (2, 2, 2), 16: (2, 2, 4), 32: (2, 4, 4)}
_FLAT = {
    1: (1, 1),
    4: (2, 2),
    8: (2, 4),
    16: (4, 4),
    32: (4, 8),
    64: (8, 8),
    128: (8, 16),
    256: (16, 16),
}

_FORM = re.compile(r"([\w-]+):(\d+(?:x\d+)*)")
_SLICE = re.compile(r"(?:(\d+)x)?([a-z]\w*)-(\d+)", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Topology:
    """A machine.

    Attributes:
      text: As a person wrote it.
      devices: How many devices JAX would see.
      memory: Bytes of one device.
      kind: One of `KINDS`.
      sides: How many chips there are along each side of a slice.
      slices: How many slices there are.
      is_named: Whether it was written as slices are named: `v4-128`.
    """

    text: str
    devices: int
    memory: int
    kind: str = ""
    sides: tuple[int, ...] = ()
    slices: int = 1
    is_named: bool = False

    @property
    def is_tpu(self) -> bool:
        """Whether it is of the chips that libtpu compiles for."""
        return self.kind in CORES_TO_A_CHIP

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Along which sides the last chip is linked to the first.

        Cubes are joined to a torus; in two dimensions a side of 16 is closed.
        """
        if len(self.sides) == 3:
            return (all(side % 4 == 0 for side in self.sides),) * 3
        return (*(side == 16 for side in self.sides), False)


def parse(text: str) -> Topology:
    """A topology from `v4:4x4x4`, `h100:32`, `v4-128` or `2xv4-128`.

    The first form is the kind of chip and how many there are along each side; the
    others are the name of a slice, and so many of them.

    Raises:
      UserError: It is of no such form, or there is no such kind or slice.
    """
    text = text.strip()
    match = _FORM.fullmatch(text)
    if match is None:
        return _slice(text)
    kind, sides = match[1].lower(), tuple(int(side) for side in match[2].split("x"))
    if kind not in KINDS:
        hint = suggest.hint(kind, KINDS)
        raise UserError(
            f"no kind of device {match[1]!r}",
            *([f"  {hint}"] if hint else []),
            f"  kinds: {', '.join(KINDS)}",
        )
    if not all(sides):
        raise UserError(f"{text!r} has a side of no chips")
    memory, to_a_chip = KINDS[kind]
    devices = math.prod(sides) * to_a_chip
    return Topology(text, devices, int(memory * 2**30), kind, sides)


def _slice(text: str) -> Topology:
    match = _SLICE.fullmatch(text)
    kind = "" if match is None else _ALIASES.get(match[2].lower(), match[2].lower())
    if match is None or kind not in CORES_TO_A_CHIP:
        raise UserError(
            f"{text!r} is no topology",
            "  write it like v4:4x4x4 or h100:32: the kind and the number of chips;",
            "  or like v4-128 or 2xv4-128: a slice by its name, and so many of them",
            f"  kinds: {', '.join(KINDS)}; with slices: {', '.join(CORES_TO_A_CHIP)}",
        )
    number, cores = int(match[3]), CORES_TO_A_CHIP[kind]
    chips, left = divmod(number, cores)
    sides = None if left else sides_of(kind, chips)
    slices = int(match[1] or 1)
    if sides is None or not slices:
        of = "TensorCores, two to a chip" if cores == 2 else "chips"
        raise UserError(
            f"{text!r}: there is no slice {kind}-{number}"
            if slices
            else f"{text!r} is no slice at all",
            f"  {kind} slices are named by their {of}: "
            + ", ".join(f"{kind}-{n}" for n in near(kind, number)),
        )
    memory, to_a_chip = KINDS[kind]
    devices = chips * to_a_chip * slices
    size = int(memory * 2**30)
    return Topology(text, devices, size, kind, sides, slices, is_named=True)


def sides_of(kind: str, chips: int) -> tuple[int, ...] | None:
    """The sides of the slice of so many chips; None if there is none.

    Of several shapes in three dimensions it is the one most like a cube, which is what
    is given to whoever asks by name.
    """
    if not 0 < chips <= _POD[kind]:
        return None
    if DIMENSIONS[kind] == 2:
        return _FLAT.get(chips)
    if chips < 64:
        return _PARTS_OF_A_CUBE.get(chips)
    if chips % 64:
        return None
    cubes = chips // 64
    shapes = [
        (a, b, cubes // (a * b))
        for a, b in itertools.product(range(1, math.isqrt(cubes) + 1), repeat=2)
        if cubes % (a * b) == 0 and a <= b <= cubes // (a * b)
    ]
    shapes += [(1, 1, cubes)]
    return tuple(4 * side for side in min(shapes, key=sum))


def near(kind: str, number: int, count: int = 4) -> list[int]:
    """The numbers of the slices of a kind that are nearest to one, in their order."""
    cores = CORES_TO_A_CHIP[kind]
    sizes = (2**power for power in range(14))
    known = [size * cores for size in sizes if sides_of(kind, size) is not None]
    nearest = sorted(known, key=lambda n: abs(math.log(max(number, 1) / n)))
    return sorted(nearest[:count])
