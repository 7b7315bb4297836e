"""What the devices of a compiled program send each other, by kind and bytes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

KINDS = (
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "ragged-all-to-all",
)

_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{\s*$")
_OP = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (.*?) ([a-z][\w\-]*)\((.*)$")
_SHAPE = re.compile(r"\b(pred|[a-z]+\d+\w*)\[([\d,<=]*)\]")
_CALLED = re.compile(r"(?:body|to_apply|calls|called_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_CHOICES = re.compile(r"(?:true|false)_computation=%?([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_BOUND = re.compile(r" [su]32\[\]\S* constant\((\d+)\)")
_UPWARDS = re.compile(r" compare\(.*direction=LT")
_BITS = re.compile(r"\d+")


@dataclasses.dataclass(frozen=True)
class Collective:
    """All exchanges of one kind in a step.

    Attributes:
      kind: As XLA calls it.
      count: How many there are, those in loops as often as these run: as their own
        bound says, which they count up to from 0; one without such a bound counts once.
      bytes: What one device gets out of them.
    """

    kind: str
    count: int
    bytes: int


@dataclasses.dataclass
class _Computation:
    """One computation of a module.

    Attributes:
      exchanges: Kinds and bytes.
      calls: The computations that it calls, each with the condition of the loop that it
        is the body of (empty: of none) and how often that is known to run (0: not).
      bounds: The whole numbers in it.
      counts_up: Whether it asks if one number is less than another.
    """

    exchanges: list[tuple[str, int]]
    calls: list[tuple[str, str, int]]
    bounds: list[int]
    counts_up: bool = False


def collectives(hlo: str) -> list[Collective]:
    """The exchanges of a compiled module, the most bytes first.

    Args:
      hlo: Its text, as XLA writes an optimised module.
    """
    computations, entry = _parsed(hlo.splitlines())
    found: dict[str, tuple[int, int]] = {}
    for kind, size, times in _run(computations, entry):
        count, total = found.get(kind, (0, 0))
        found[kind] = (count + times, total + times * size)
    made = [Collective(kind, *numbers) for kind, numbers in found.items()]
    return sorted(made, key=lambda one: -one.bytes)


def _parsed(lines: Iterable[str]) -> tuple[dict[str, _Computation], str]:
    computations: dict[str, _Computation] = {}
    entry, current = "", None
    for line in lines:
        if line and not line[0].isspace():
            head = _HEAD.match(line)
            current = None
            if head is not None and not line.startswith("HloModule"):
                current = computations[head[1]] = _Computation([], [], [])
                entry = head[1] if line.startswith("ENTRY") else entry
            continue
        op = None if current is None else _OP.match(line)
        if current is None or op is None:
            continue
        current.bounds += [int(number) for number in _BOUND.findall(line)]
        current.counts_up |= _UPWARDS.search(line) is not None
        shape, name, rest = op.groups()
        kind = name.removesuffix("-start")
        if kind in KINDS:
            current.exchanges.append((kind, _received(shape, name)))
        condition, known = "", 1
        if name == "while":
            trips, asked = _TRIPS.search(rest), _CONDITION.search(rest)
            condition = "" if asked is None else asked[1]
            known = 0 if trips is None else int(trips[1])
        called = [*_CALLED.findall(rest), *_CHOICES.findall(rest)]
        for several in _BRANCHES.findall(rest):
            called += [one.strip().lstrip("%") for one in several.split(",")]
        current.calls += [(one, condition, known) for one in called]
    return computations, entry


def _run(
    computations: dict[str, _Computation], entry: str
) -> Iterator[tuple[str, int, int]]:
    """Each exchange with its bytes, and how often it happens."""
    pending = [(entry, 1)]
    while pending:
        name, times = pending.pop()
        computation = computations.get(name)
        if computation is None:
            continue
        for kind, size in computation.exchanges:
            yield kind, size, times
        for called, condition, known in computation.calls:
            often = known or _bound(computations.get(condition))
            pending.append((called, times * often))


def _bound(condition: _Computation | None) -> int:
    """How often a loop runs, by its condition; 1 where that does not say."""
    if condition is None or not condition.counts_up or len(condition.bounds) != 1:
        return 1
    return condition.bounds[0]


def _received(shape: str, name: str) -> int:
    """The bytes of what an exchange gives; of one that only starts, its last result."""
    sizes = [_bytes(*found) for found in _SHAPE.findall(shape)]
    if not sizes:
        return 0
    if name.endswith("-start"):
        # (operands, results, …): as many of each, and for some two counters behind.
        sizes = [size for size in sizes if size > 4] or sizes
        return sum(sizes[len(sizes) // 2 :])
    return sum(sizes)


def _bytes(dtype: str, dims: str) -> int:
    bits = _BITS.search(dtype)
    size = 8 if bits is None else int(bits[0])
    for dim in dims.split(","):
        if dim:
            size *= int(dim.lstrip("<="))
    return size // 8
