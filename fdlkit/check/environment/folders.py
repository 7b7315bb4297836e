"""Folders that the run writes to, and whether a checkpoint fits on their disk."""

from __future__ import annotations

import math
import os
import pathlib
import shutil
from collections.abc import Iterator, Mapping

from fdlkit.check.findings import Finding
from fdlkit.check.subject import Subject

CACHE = "JAX_COMPILATION_CACHE_DIR"


def find(subject: Subject) -> Iterator[Finding]:
    """The workdir, if it is known, and the cache of compiled programs."""
    environment = subject.request.environment
    yield from _cache(subject, os.environ if environment is None else environment)
    workdir = subject.request.workdir
    if workdir is None or "://" in workdir:  # an object store says nothing in advance
        return
    path = pathlib.Path(workdir).absolute()
    if (why := why_not_writable(path)) is not None:
        yield subject.outside(
            "EN004",
            "--workdir",
            f"the workdir {workdir} cannot be written: {why}",
            fix="--workdir names a folder that you may create or write to",
        )
        return
    yield from _space(subject, workdir, path)


def _cache(subject: Subject, environment: Mapping[str, str]) -> Iterator[Finding]:
    chosen = environment.get(CACHE)
    if not chosen or "://" in chosen:
        return
    if (why := why_not_writable(pathlib.Path(chosen).absolute())) is not None:
        yield subject.outside(
            "EN005",
            CACHE,
            f"the compilation cache {chosen} cannot be written: {why}",
            fix=f"unset {CACHE}, which takes one in your home folder, or name another",
        )


def _space(subject: Subject, workdir: str, path: pathlib.Path) -> Iterator[Finding]:
    needed = checkpoint_bytes(subject)
    if needed is None:
        return
    free = shutil.disk_usage(_existing(path)).free
    if needed > free:
        yield subject.outside(
            "EN006",
            "--workdir",
            f"one checkpoint takes {needed:,} bytes, and the disk of the workdir "
            f"{workdir} has {free:,} free",
            numbers={"checkpoint_bytes": needed, "free_bytes": free},
            fix=f"free {needed - free:,} bytes, or take a --workdir on another disk",
        )


def checkpoint_bytes(subject: Subject) -> int | None:
    """What the state takes on disk, not compressed; None if it is not known.

    In a run of several processes each writes a part; that is for their shared disk.
    """
    shapes = subject.shapes
    if shapes is None:
        return None
    import jax

    return sum(
        math.prod(leaf.shape) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(shapes.state)
    )


def why_not_writable(folder: pathlib.Path) -> str | None:
    """Why a folder cannot be made or written to; None if it can. Nothing is made."""
    there = _existing(folder)
    if not there.is_dir():
        return f"{there} is no folder"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"you may not write to {there}"
    return None


def _existing(path: pathlib.Path) -> pathlib.Path:
    """The path, or the nearest folder above it that is there."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
