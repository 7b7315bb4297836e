"""JAX's persistent compilation cache, on by default, in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

import jax

from fdlkit import user_cache


def turn_on() -> Path | None:
    """Points JAX at a cache of compiled programs, unless the user chose one.

    `JAX_COMPILATION_CACHE_DIR` names another folder, and an empty value none.

    Returns:
      The folder, or None where there is none that can be written.
    """
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        # The default leaves out what compiles in under a second; on a small model
        # that is most of what a second start waits for.
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        chosen = os.environ["JAX_COMPILATION_CACHE_DIR"]
        return Path(chosen) if chosen else None
    folder = user_cache.writable("compiled", machine())
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
    return folder


def machine() -> str:
    """Names what a program was compiled for.

    XLA's CPU programs hold instructions of the machine that compiled them; in a home
    folder that several kinds of machine share, each kind needs its own.
    """
    features = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        features = next((x for x in lines if x.startswith(("flags", "Features"))), "")
    named = f"{platform.machine()} {platform.processor()} {features}"
    digest = hashlib.sha256(named.encode()).hexdigest()[:12]
    return f"jax-{jax.__version__}-{digest}"
