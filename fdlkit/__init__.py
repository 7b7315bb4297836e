"""
fdlkit: see, trust, compare, keep, eject and run Fiddle experiments in JAX.

The names below are imported when they are first used: importing `fdlkit` alone costs
nothing, and a program that only reads JSON never loads JAX.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fdlkit import flags as flags
    from fdlkit.check.allowing import allow as allow
    from fdlkit.check.report import check as check
    from fdlkit.codegen.writing import codegen as codegen
    from fdlkit.data.input_sharding import (
        check_input_sharding as check_input_sharding,
    )
    from fdlkit.diff.applying import apply as apply
    from fdlkit.diff.compare import diff as diff
    from fdlkit.graph.build import build as build
    from fdlkit.graph.equality import equal as equal
    from fdlkit.graph.references import ref as ref
    from fdlkit.graph.snapshot import snapshot as snapshot
    from fdlkit.overrides.explain import explain as explain
    from fdlkit.sample.texts import sample as sample
    from fdlkit.serialize.loading import loads as loads
    from fdlkit.serialize.reading import read as read
    from fdlkit.serialize.writing import dumps as dumps
    from fdlkit.targets.loading import load as load
    from fdlkit.view.notebook import display as display

    __version__: str

# Public name to the module that defines it.
_HOMES = {
    "allow": "fdlkit.check.allowing",
    "apply": "fdlkit.diff.applying",
    "build": "fdlkit.graph.build",
    "check": "fdlkit.check.report",
    "check_input_sharding": "fdlkit.data.input_sharding",
    "codegen": "fdlkit.codegen.writing",
    "diff": "fdlkit.diff.compare",
    "display": "fdlkit.view.notebook",
    "dumps": "fdlkit.serialize.writing",
    "equal": "fdlkit.graph.equality",
    "explain": "fdlkit.overrides.explain",
    "load": "fdlkit.targets.loading",
    "loads": "fdlkit.serialize.loading",
    "read": "fdlkit.serialize.reading",
    "ref": "fdlkit.graph.references",
    "sample": "fdlkit.sample.texts",
    "snapshot": "fdlkit.graph.snapshot",
}

# Public modules, imported when they are first used.
_MODULES = ("flags",)

__all__ = [
    "allow",
    "apply",
    "build",
    "check",
    "check_input_sharding",
    "codegen",
    "diff",
    "display",
    "dumps",
    "equal",
    "explain",
    "load",
    "loads",
    "read",
    "ref",
    "sample",
    "snapshot",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        return metadata.version("fdlkit")
    if name in _MODULES:
        return importlib.import_module(f"fdlkit.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'fdlkit' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    # A room that has its function's name, `fdlkit.diff`, can be called in its place.
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES, "__version__"])
