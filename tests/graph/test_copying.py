"""A copy is deep, keeps sharing, and ends."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.graph import copying
from tests.graph.configs import Box


def test_a_config_that_contains_itself_is_refused():
    cfg = fdl.Config(Box)
    cfg.a = [fdl.Config(Box, a=cfg)]
    with pytest.raises(UserError, match="the config contains itself"):
        copying.copy(cfg)


def test_what_is_shared_is_no_circle():
    shared = fdl.Config(Box)
    diamond = shared
    for _ in range(30):
        diamond = fdl.Config(Box, a=diamond, b=[diamond, shared])
    copied = copying.copy(diamond)
    assert copied.a is copied.b[0]
    assert copied is not diamond
