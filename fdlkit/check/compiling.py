"""The compile level: what the compiler of the chip says of the training step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fdlkit.check import module_paths
from fdlkit.check.aot.compiling import Compiled, NotCompiled
from fdlkit.check.aot.refusal import Buffer, OutOfMemory, out_of_memory
from fdlkit.check.sizes import size_of
from fdlkit.graph.paths import Path

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject
    from fdlkit.check.topology import Topology

_MOST_BUFFERS = 6
_MOST_LINES = 12


def find(subject: Subject) -> Iterator[Finding]:
    """What is wrong with the compiled step."""
    machine, result = subject.request.topology, subject.compiled
    assert machine is not None
    if isinstance(result, Compiled) and result.splits:
        yield _shares(subject, machine)
    if not isinstance(result, NotCompiled):
        return
    memory = out_of_memory(result.text)
    if result.failed == "mesh":
        yield subject.finding(
            "CO002",
            "mesh",
            f"the mesh cannot be laid on {machine.text} (sides "
            f"{_sides(machine)}): {result.text}",
            fix=f"axes whose sizes are products of {_sides(machine)}, or of their "
            "divisors",
        )
    elif memory is not None:
        yield _too_large(subject, machine, memory)
    else:
        first, *more = result.text.strip().splitlines() or [""]
        told = f"the compiler of {machine.text} refuses the step: {first}"
        yield subject.finding(
            "CO003",
            "<root>",
            "\n".join([told, *more[:_MOST_LINES]]),
            fix="change what it names; --compile=false leaves the compiler out",
        )


def _sides(machine: Topology) -> str:
    return "x".join(map(str, machine.sides))


def _shares(subject: Subject, machine: Topology) -> Finding:
    return subject.finding(
        "CO004",
        "mesh",
        f"on {machine.text} (sides {_sides(machine)}) a mesh axis is made of a part of "
        "a side",
        fix="sizes that are products of whole sides",
    )


def _too_large(subject: Subject, machine: Topology, memory: OutOfMemory) -> Finding:
    buffers = sorted(memory.buffers, key=lambda one: -one.bytes)[:_MOST_BUFFERS]
    place = next((_place(subject, one) for one in buffers if one.name), ("model",))
    return subject.finding(
        "CO001",
        place,
        "\n".join(
            [
                f"the step needs {size_of(memory.used)} of a chip of {machine.text}, "
                f"which gives it {size_of(memory.available)}; the largest buffers:",
                *map(_told, buffers),
            ]
        ),
        fix="keep less (Repeat.remat='full'), or give a chip less: fewer rows, or more "
        "chips over it",
        numbers={"bytes": memory.used, "available": memory.available},
    )


def _told(one: Buffer) -> str:
    where = f" ({one.source})" if one.source else ""
    return f"{size_of(one.bytes)}  {one.shape}  {one.name or one.kind}{where}"


def _place(subject: Subject, buffer: Buffer) -> Path:
    parts = buffer.name.split("/")
    while parts and parts[0] in ("params", "opt_state", "model_state"):
        parts = parts[1:]
    return module_paths.place_of(subject, [p for p in parts if p.isidentifier()])
