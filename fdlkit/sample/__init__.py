"""Text from a run: its last checkpoint, or another one, continues prompts.

The room has the name of its function, so it can be called like it:
`fdlkit.sample("runs/demo", "def ")`.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _Room(types.ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from fdlkit.sample.texts import sample

        return sample(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
