"""A workdir below a file, and a cache there too."""

from __future__ import annotations

from tests.check.house import experiment

ENVIRONMENT = {"JAX_COMPILATION_CACHE_DIR": "/dev/null/cache"}
WORKDIR = "/dev/null/run"


def broken():
    return experiment()
