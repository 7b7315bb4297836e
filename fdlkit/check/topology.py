"""Machines by name: `v4:4x4x4` is 64 devices of 32 GiB each."""

from __future__ import annotations

import dataclasses
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

_FORM = re.compile(r"([\w-]+):(\d+(?:x\d+)*)")


@dataclasses.dataclass(frozen=True)
class Topology:
    """A machine.

    Attributes:
      text: As a person wrote it.
      devices: How many devices JAX would see.
      memory: Bytes of one device.
    """

    text: str
    devices: int
    memory: int


def parse(text: str) -> Topology:
    """A topology from `v4:4x4x4`: the kind of chip, and how many along each side.

    Raises:
      UserError: It is not of that form, or the kind is unknown.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise UserError(
            f"{text!r} is no topology",
            "  write it like v4:4x4x4 or h100:32: the kind and the number of chips",
            f"  kinds: {', '.join(KINDS)}",
        )
    kind, sides = match[1].lower(), [int(side) for side in match[2].split("x")]
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
    return Topology(text, math.prod(sides) * to_a_chip, int(memory * 2**30))
