"""The compile level: what the compiler of the chip says of the training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fdlkit.check import module_paths
from fdlkit.check.aot.compiling import Compiled, NotCompiled
from fdlkit.check.aot.refusal import Buffer, too_large
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
    memory = too_large(result.text)
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
        yield _too_large(subject, machine, memory, result.buffers)
    else:
        first, *more = result.text.strip().splitlines() or [""]
        who = f"the compiler of {machine.text} refuses the step"
        told = f"{who if result.failed != 'lower' else 'the step'}: {first}"
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


def _too_large(
    subject: Subject,
    machine: Topology,
    memory: tuple[int, int],
    buffers: Sequence[Buffer],
) -> Finding:
    needed, available = memory
    shown = buffers[:_MOST_BUFFERS]
    head = (
        f"the step needs {size_of(needed)} of a chip of {machine.text}, which gives it "
        f"{size_of(available)}"
    )
    return subject.finding(
        "CO001",
        next((_place(subject, one) for one in shown), ("model",)),
        "\n".join(
            [
                f"{head}; the largest buffers:" if shown else head,
                *(f"{size_of(b.bytes):>9}  {b.shape}  {b.name}" for b in shown),
            ]
        ),
        fix="keep less (Repeat.remat='full'), or give a chip less: fewer rows, or more "
        "chips over it",
        numbers={"bytes": needed, "available": available},
    )


def _place(subject: Subject, buffer: Buffer) -> Path:
    parts = buffer.name.split("/")
    while parts and parts[0] in ("params", "opt_state", "model_state"):
        parts = parts[1:]
    return module_paths.place_of(subject, [p for p in parts if p.isidentifier()])
