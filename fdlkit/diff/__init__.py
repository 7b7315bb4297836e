"""What is different between two configs, told as a person would.

The room has the name of its function, so it can be called like it: `fdlkit.diff(a, b)`
works whether or not something has imported `fdlkit.diff.text` before.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Room(types.ModuleType):
    def __call__(self, a: Any, b: Any) -> Any:
        from fdlkit.diff.compare import diff

        return diff(a, b)


sys.modules[__name__].__class__ = _Room
