"""`fdlkit show TARGET`."""

from __future__ import annotations
