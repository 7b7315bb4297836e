"""Every kind of finding: the levels' tables in one.

Each level has a table of its own, `codes_config` and its like.
"""

from __future__ import annotations

from collections.abc import Mapping

from fdlkit import suggest
from fdlkit.check import (
    codes_axes,
    codes_compile,
    codes_config,
    codes_environment,
    codes_memory,
    codes_restore,
    codes_shapes,
)
from fdlkit.check.findings import Code
from fdlkit.errors import UserError

TABLES: tuple[tuple[Code, ...], ...] = (
    codes_config.CODES,
    codes_axes.CODES,
    codes_shapes.CODES,
    codes_memory.CODES,
    codes_restore.CODES,
    codes_compile.CODES,
    codes_environment.CODES,
)

CODES: Mapping[str, Code] = {one.code: one for table in TABLES for one in table}


def find(code: str) -> Code:
    """The kind of finding that has a code.

    Raises:
      UserError: There is none.
    """
    known = CODES.get(code.upper())
    if known is not None:
        return known
    hint = suggest.hint(code.upper(), CODES)
    raise UserError(
        f"there is no finding {code!r}",
        *([f"  {hint}"] if hint else []),
        f"  codes: {', '.join(sorted(CODES))}",
    )
