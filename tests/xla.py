"""How XLA compiles for the fast tests: in a hurry, since most of it runs once.

A fast test compiles for most of its time, and what it says holds for a program however
it was compiled. Slow tests, and all that run without `-m "not slow"`, have the
compiler as it is; so has who sets `XLA_FLAGS`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable

from jaxlib import version

FAST_COMPILE = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    # The emitters of fusions alone take most of what is left to compile. Later versions
    # cannot do without them, and end a process that is told a flag they do not know.
    *(
        ("--xla_cpu_use_fusion_emitters=false",)
        if version.__version_info__ < (0, 11)
        else ()
    ),
)


def hurry() -> None:
    """Has this process, and all that it starts, compile fast."""
    os.environ.setdefault("XLA_FLAGS", " ".join(FAST_COMPILE))


def keep_programs() -> Callable[[], None]:
    """Has this process, and all that it starts, compile each program once.

    Each process that shares the tests has a folder of its own: JAX writes into one
    without a lock, and what is read half warns.

    Returns:
      What takes the programs away again.
    """
    folder = tempfile.mkdtemp(prefix="programs-of-tests-")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    return lambda: shutil.rmtree(folder, ignore_errors=True)


def devices(count: int) -> dict[str, str]:
    """The variable that gives a process so many devices, and compiles as this one."""
    here = os.environ.get("XLA_FLAGS", "")
    more = f"--xla_force_host_platform_device_count={count}"
    return {"XLA_FLAGS": f"{here} {more}".strip()}
