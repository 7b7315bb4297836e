"""Flags of XLA and libtpu, tried where they can do no harm: in another process."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import mmap
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping

XLA, LIBTPU = "XLA_FLAGS", "LIBTPU_INIT_ARGS"
_TIMEOUT = 60.0  # seconds; jaxlib alone loads in a fraction of one

# Reading the flags is the first thing that these do, and it ends the process there.
_PROGRAMS = {
    XLA: "from jaxlib import _jax; _jax.CompileOptions()",
    LIBTPU: "import libtpu; from jaxlib import _jax; "
    "_jax.load_pjrt_plugin('tpu', libtpu.get_library_path(), None); "
    "_jax.initialize_pjrt_plugin('tpu')",
}
# That libtpu neither asks the cloud what machine this is nor takes its chips.
_AROUND = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v4-8",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}
# Who has the flags of a variable, and the file that they are in.
_LIBRARIES = {XLA: ("jaxlib", "libjax_common.so"), LIBTPU: ("libtpu", "libtpu.so")}

# A flag's name in a library, between two ends of C strings.
_BEGIN = b"\0xla_"
_NAME = re.compile(rb"(xla_[a-z0-9_]{3,})\0")
_MAX_NAME = 100


@dataclasses.dataclass(frozen=True)
class Trial:
    """How flags were taken.

    Attributes:
      accepted: Whether the process went on.
      said: What it said when it did not.
    """

    accepted: bool
    said: str


@functools.lru_cache(maxsize=16)
def attempt(variable: str, flags: str) -> Trial | None:
    """Has XLA or libtpu read flags in a process of their own.

    Returns:
      None where it cannot be asked: it is not installed, or no process can be made.
    """
    if importlib.util.find_spec(_LIBRARIES[variable][0]) is None:
        return None
    others = {k: v for k, v in os.environ.items() if k not in (XLA, LIBTPU)}
    # The child finds what this process has found.
    paths = os.pathsep.join(path for path in sys.path if path)
    environment: Mapping[str, str] = {
        **_AROUND,
        **others,
        "PYTHONPATH": paths,
        variable: flags,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAMS[variable]],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode == 0:
        return Trial(True, "")
    # One that fails for another reason says nothing of the flags.
    return Trial(False, done.stderr) if "flag" in done.stderr.lower() else None


@functools.lru_cache(maxsize=2)
def known_flags(variable: str) -> frozenset[str]:
    """What may be flags of what is installed, to tell which one was meant.

    XLA lists its flags only in part, so they are looked for in its library.
    """
    package, library = _LIBRARIES[variable]
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        try:
            with open(pathlib.Path(folder) / library, "rb") as file:
                text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            continue
        with text:
            return frozenset(_names(text))
    return frozenset()


def _names(text: mmap.mmap) -> Iterator[str]:
    """The strings of a library that a flag's name could be."""
    at = text.find(_BEGIN)
    while at >= 0:
        # Found by what it begins with: an expression takes seconds for so much.
        found = _NAME.match(text[at + 1 : at + 1 + _MAX_NAME])
        if found is not None:
            yield found[1].decode()
        at = text.find(_BEGIN, at + 1)


def split(flags: str) -> list[str]:
    """The flags of a variable, one by one."""
    try:
        return shlex.split(flags)
    except ValueError:  # a quote without its other half
        return flags.split()


def name_of(flag: str) -> str:
    """`xla_dump_to` of `--xla_dump_to=there`."""
    return flag.lstrip("-").partition("=")[0]
