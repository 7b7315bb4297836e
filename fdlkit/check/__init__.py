"""Every axis, shape and byte of a run, told before a single device is touched."""

from __future__ import annotations

import sys
import types
from typing import Any


class _Room(types.ModuleType):
    """This room, which is called as the function that it is named for.

    `fdlkit.check` is the function, but whoever imports `fdlkit.check.findings` puts
    the room in its place.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from fdlkit.check.report import check

        return check(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
