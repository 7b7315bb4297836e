"""What XLA says of a program that does not fit a chip, and of its largest buffers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"([\d.]+)([KMGT]?)"
_WORDS = (
    re.compile(rf"required for .*?\({_SIZE}\) exceeds available .*?\({_SIZE}\)"),
    re.compile(rf"Used {_SIZE} of {_SIZE}"),
)
# A line of the buffer assignment that XLA dumps.
_VALUE = re.compile(
    r"^ *value: <\d+ (?P<op>[^ {]+)(?:\{[\d,]*\})? @\d+> "
    r"\(size=(?P<size>\d+),offset=(?P<offset>\d+)\): (?P<shape>[a-z]\w*\[[\d,]*\])"
)
_ALLOCATION = re.compile(r"^allocation (?P<number>\d+): ")
# An instruction of the module: its name, what it calls, and what made it.
_OP = re.compile(r"^\s+(?:ROOT )?%?(?P<op>[\w.\-]+) = ")
_HEAD = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) .*\{\s*$")
_CALLS = re.compile(r"calls=%?([\w.\-]+)")
_MADE_BY = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_ARGUMENT = re.compile(r"^\w+(?:\[\d+\])?\[\\?'(?P<name>.*?)\\?'\]$")
# What JAX's transformations put around a name: `transpose(jvp(Transformer))`.
_AROUND = re.compile(r"^(?:jit|pjit|jvp|vmap|transpose|remat|checkpoint)\(.*\)$")
_NOISE = frozenset(
    {
        *("while", "body", "cond", "closed_call", "checkpoint", "call_exported"),
        *("rematted_computation", "custom_vjp_call", "custom_jvp_call"),
    }
)
# What a loop keeps of each round is named by what made it, and not by the keeping.
_KEEPING = ("dynamic_update_slice", "dynamic_slice", "broadcast_in_dim", "scatter")


@dataclasses.dataclass(frozen=True)
class Buffer:
    """One of the largest buffers of a chip.

    Attributes:
      bytes: Its size.
      shape: `bf16[64,2048,16384]`.
      name: The parameter, or the module and operation that make it; else XLA's name.
    """

    bytes: int
    shape: str
    name: str


def too_large(text: str) -> tuple[int, int] | None:
    """The bytes that a program needs and those that there are, from XLA's error.

    None if the error is about something else.
    """
    for words in _WORDS:
        found = words.search(text)
        if found is not None:
            needed = int(float(found[1]) * _UNITS[found[2]])
            return needed, int(float(found[3]) * _UNITS[found[4]])
    return None


def largest_buffers(assignment: str, module: str, count: int = 8) -> list[Buffer]:
    """The largest buffers, each once, with what they are of.

    Args:
      assignment: XLA's dump of the buffer assignment.
      module: Its dump of the module that was assigned, with metadata.
      count: How many.
    """
    found: dict[tuple[str, str], tuple[int, str, str]] = {}
    allocation = ""
    for line in assignment.splitlines():
        head = _ALLOCATION.match(line)
        if head is not None:
            allocation = head["number"]
            continue
        value = _VALUE.match(line)
        if value is not None:
            # Several values may have one place, one after another: the first names it.
            place = (allocation, value["offset"])
            made = (int(value["size"]), value["shape"], value["op"])
            if place not in found or made[0] > found[place][0]:
                found[place] = made
    largest = sorted(found.values(), key=lambda one: -one[0])[:count]
    names = _names(module)
    return [Buffer(size, shape, names.get(op, op)) for size, shape, op in largest]


def _names(module: str) -> Mapping[str, str]:
    """What each instruction of a module is of, as a person knows it."""
    made_by: dict[str, str] = {}
    calls: dict[str, str] = {}
    inside: dict[str, list[str]] = {}
    computation = ""
    for line in module.splitlines():
        head = _HEAD.match(line) if line and not line[0].isspace() else None
        if head is not None:
            computation = head["name"]
            continue
        op, by = _OP.match(line), _MADE_BY.search(line)
        if op is None or by is None:
            continue
        made_by[op["op"]] = by[1]
        inside.setdefault(computation, []).append(by[1])
        called = _CALLS.search(line)
        if called is not None:
            calls[op["op"]] = called[1]
    names = {}
    for name, own in made_by.items():
        path = path_of(own)
        if path.rpartition("/")[2] in _KEEPING:
            parts = [path_of(by) for by in inside.get(calls.get(name, ""), ())]
            kept = [part for part in parts if part.rpartition("/")[2] not in _KEEPING]
            path = max(kept, key=lambda part: part.count("/"), default=path)
        names[name] = path
    return names


def path_of(op_name: str) -> str:
    """The parameter or the module behind the name of an operation.

    `jit(step)/transpose(jvp(Transformer))/layers/while/body/block/mlp/dot_general` is
    `layers/block/mlp/dot_general`; `args[0]['params/embed']` is `params/embed`.
    """
    argument = _ARGUMENT.match(op_name)
    if argument is not None:
        return argument["name"]
    parts = [
        part
        for part in op_name.split("/")
        if part
        and part not in _NOISE
        and not part.endswith(".step")  # Flax's loop over layers
        and not _AROUND.match(part)
    ]
    return "/".join(parts) or op_name
