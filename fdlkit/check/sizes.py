"""Bytes as a person reads them."""

from __future__ import annotations


def size_of(count: float) -> str:
    """Bytes as a person reads them: `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
