"""Parameters that are not trained: there are none."""

from __future__ import annotations

from typing import Any


def held(params: Any, opt_state: Any) -> Any:
    """The parameters."""
    del opt_state
    return params
