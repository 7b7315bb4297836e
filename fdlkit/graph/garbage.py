"""Python's collector of circles, kept waiting while something large is made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """Within it no circles are looked for; what is not held is freed as always.

    Who makes a hundred thousand objects that all stay has the collector look through
    them again and again: a third of the time of a comparison, for nothing. That another
    thread has it waiting too does no harm: the first that ends lets it run.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
