"""Leaves on one line, as a person would write them.

A leaf that was read from text shows what it shows in a living config.
"""

from __future__ import annotations

from fdlkit.graph import array_texts, reprs, value_kinds, values
from fdlkit.graph.model import Array, DType, LeafValue, Made, Member, Opaque, Symbol

_BRACKETS = {
    "list": ("[", "]", "[]"),
    "tuple": ("(", ")", "()"),
    "set": ("{", "}", "set()"),
    "frozenset": ("frozenset({", "})", "frozenset()"),
    "dict": ("{", "}", "{}"),
}

# What everybody writes for a name.
_ALIASES = {
    value_kinds.PARTITION_SPEC: "P",
    value_kinds.UNCONSTRAINED: "P.UNCONSTRAINED",
}


def text(held: LeafValue, *, full: bool = False) -> str:
    """`0.1`, `'text'`, `relu`, `Norm.RMS`, `dtype(float32)`, `Path('a')`.

    Args:
      held: What a leaf holds.
      full: Whether functions and classes get their full names: `jax.nn.relu`.
    """
    if isinstance(held, Symbol):
        return held.name if full else held.short
    if isinstance(held, Member):
        return f"{held.enum.name}.{held.name}" if full else repr(held)
    if isinstance(held, DType):
        return f"dtype({held.name})"
    if isinstance(held, Array):
        return array_texts.text(held)
    if isinstance(held, Made):
        return _made(held, full)
    return held.text if isinstance(held, Opaque) else reprs.plain(held)


def _made(made: Made, full: bool) -> str:
    # Of few levels: see `values`.
    name = made.type.module, made.type.qualname
    if name == ("builtins", "Ellipsis"):
        return "..."
    if name == value_kinds.UNCONSTRAINED:
        return _ALIASES[name]
    parts = []
    for key, held in made.arguments:
        part = text(held, full=full)
        if name == ("builtins", "dict") and isinstance(held, Made):
            part = ": ".join(text(inner, full=full) for _, inner in held.arguments)
        parts.append(part if isinstance(key, int) else f"{key}={part}")
    inside = ", ".join(parts)
    if made.type.module == "builtins" and made.type.qualname in _BRACKETS:
        opening, closing, empty = _BRACKETS[made.type.qualname]
        if made.type.qualname == "tuple" and len(parts) == 1:
            inside += ","
        return f"{opening}{inside}{closing}" if parts else empty
    called = made.type.name if full and not values.is_known(made.type) else None
    return f"{called or _ALIASES.get(name, made.type.short)}({inside})"
