"""What `loose` does not import by name, but stands beside what it uses."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Aunt:
    age: int = 50


@dataclasses.dataclass(frozen=True)
class Cousin(Aunt):
    toys: int = 2


aunt = Aunt()


def up(x: float) -> float:
    return x


def down(x: float) -> float:
    return -x
