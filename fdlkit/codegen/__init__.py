"""Configs as plain Python: text that a person would write, proven before it appears.

The room has the name of its function, so it can be called like it:
`fdlkit.codegen(cfg, style="build")` works whether or not something has imported
`fdlkit.codegen.writing` before.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Room(types.ModuleType):
    def __call__(self, cfg: Any, **how: Any) -> str:
        from fdlkit.codegen.writing import codegen

        return codegen(cfg, **how)


sys.modules[__name__].__class__ = _Room
