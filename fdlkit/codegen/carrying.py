"""Functions that no import leads to, whose text is carried along: lambdas, closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fdlkit.codegen.program import Definition, Text
from fdlkit.codegen.refusals import UnwritableError
from fdlkit.graph import reprs

Write = Callable[[Any], Text]

_REMEDY = "write it as a function at the top level of a module"


class Carrier:
    """Collects the functions that one program carries along."""

    def __init__(self) -> None:
        self._definitions: list[Definition] = []
        self._write: Write | None = None

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What is carried so far."""
        return tuple(self._definitions)

    def writes_with(self, write: Write) -> None:
        """Says what writes the values that functions close over."""
        self._write = write

    def text(self, function: Any) -> Text:
        """The text of a function.

        Raises:
          UnwritableError: Its own cannot be had.
        """
        raise UnwritableError(f"{reprs.text(function)}, which no import leads to", _REMEDY)
