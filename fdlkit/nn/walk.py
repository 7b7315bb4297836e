"""Walking the modules that a module holds, before any of them is bound."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import flax.linen as nn


def children(module: nn.Module) -> Iterator[tuple[str, str, nn.Module]]:
    """Yields the modules that a module's fields hold, in the fields' order.

    Lists, tuples, mappings and plain dataclasses in between are looked through.

    Yields:
      The field's name, the path from the module (`.mlp`, `.shared[0]`), the child.
    """
    for field in dataclasses.fields(module):
        if field.name in ("parent", "name"):  # Flax's own: they lead upwards.
            continue
        pending: list[tuple[str, Any]] = [
            (f".{field.name}", getattr(module, field.name))
        ]
        while pending:
            path, value = pending.pop()
            if isinstance(value, nn.Module):
                yield field.name, path, value
            else:
                pending.extend(reversed(parts(path, value)))


def parts(path: str, value: object) -> list[tuple[str, Any]]:
    """Returns what a container holds, with paths; nothing for anything else."""
    if isinstance(value, (list, tuple)):
        return [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        return [(f"{path}[{key!r}]", item) for key, item in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            (f"{path}.{field.name}", getattr(value, field.name))
            for field in dataclasses.fields(value)
        ]
    return []


def submodules(module: nn.Module, path: str) -> Iterator[tuple[str, nn.Module]]:
    """Yields a module and all below it, each once, with the first path to it."""
    seen: set[int] = set()
    pending = [(path, module)]
    while pending:
        path, module = pending.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        pending.extend(
            (path + step, child) for _, step, child in reversed([*children(module)])
        )
