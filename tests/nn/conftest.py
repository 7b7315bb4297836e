"""Named axes are held to their word in everything that these tests trace."""

from __future__ import annotations

import pytest

from fdlkit.train import named_axes


@pytest.fixture(autouse=True)
def axes_are_checked():
    with named_axes.refusing():
        yield
