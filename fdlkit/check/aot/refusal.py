"""What XLA says of a program that does not fit: how much, and the largest buffers."""

from __future__ import annotations

import dataclasses
import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"([\d.]+)([KMGT]?)"
_USED = re.compile(rf"Used {_SIZE} of {_SIZE} (\w+)")
_ENTRY = re.compile(r"^\s*\d+\. Size: ", re.MULTILINE)
_FIELD = {
    "size": re.compile(rf"^{_SIZE}", re.MULTILINE),
    "shape": re.compile(r"Shape: (\S+?)(?:\{|\s|$)"),
    "op": re.compile(r'op_name="([^"]*)"'),
    "where": re.compile(r'source_file="([^"]*)" source_line=(\d+)'),
    "kind": re.compile(r"Allocation type: (.*)"),
}
_ARGUMENT = re.compile(r"^(?:\w+)\['(.*)'\]$")
# What JAX's transformations put around a name: `transpose(jvp(Transformer))`.
_AROUND = re.compile(r"^(?:jit|jvp|transpose|vmap|remat|checkpoint|pjit)\((.*)\)$")
_NOISE = frozenset(
    {"while", "body", "cond", "closed_call", "checkpoint", "rematted_computation"}
)


@dataclasses.dataclass(frozen=True)
class Buffer:
    """One of the largest buffers.

    Attributes:
      bytes: As XLA rounds them.
      shape: `bf16[64,2048,16384]`, of one device.
      name: The parameter, or the module and the operation that make it.
      kind: As XLA calls it: `HLO temp`.
      source: `file:line`, where it is known; else empty.
    """

    bytes: int
    shape: str
    name: str
    kind: str
    source: str


@dataclasses.dataclass(frozen=True)
class OutOfMemory:
    """A program that needs more than a chip has.

    Attributes:
      used: The bytes that it needs.
      available: Those that XLA may use.
      buffers: The largest, as XLA lists them.
    """

    used: int
    available: int
    buffers: tuple[Buffer, ...]


def out_of_memory(text: str) -> OutOfMemory | None:
    """What an error of XLA's says of memory; None if it is about something else."""
    used = _USED.search(text)
    if used is None:
        return None
    pieces = _ENTRY.split(text)[1:]
    buffers = tuple(filter(None, map(_buffer, pieces)))
    return OutOfMemory(
        _size(used[1], used[2]),
        _size(used[3], used[4]),
        tuple(dict.fromkeys(buffers)),
    )


def _buffer(piece: str) -> Buffer | None:
    found = {name: pattern.search(piece) for name, pattern in _FIELD.items()}
    size = found["size"]
    if size is None:
        return None
    op, shape, kind, where = (found[name] for name in ("op", "shape", "kind", "where"))
    return Buffer(
        bytes=_size(size[1], size[2]),
        shape="" if shape is None else shape[1],
        name="" if op is None else path_of(op[1]),
        kind="" if kind is None else kind[1].strip(),
        source="" if where is None else f"{where[1]}:{where[2]}",
    )


def path_of(op_name: str) -> str:
    """The parameter or the module behind the name of an operation.

    `jit(step)/transpose(jvp(Transformer))/layers/while/body/block/mlp/dot_general` is
    `layers/block/mlp/dot_general`.
    """
    argument = _ARGUMENT.match(op_name)
    if argument is not None:
        return argument[1]
    parts = []
    for part in op_name.split("/"):
        inner = _AROUND.match(part)
        if inner is not None or part in _NOISE or not part:
            continue
        parts.append(part)
    return "/".join(parts) or op_name


def _size(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit])
