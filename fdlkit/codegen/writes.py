"""What writers of single types need to have the parts of their values written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from fdlkit.codegen.program import Text
from fdlkit.graph.model import Symbol


class Leaves(Protocol):
    """Writes any value; `fdlkit.codegen.leaves.Leaves`."""

    def live(self, value: Any) -> Text:
        """The text of a value."""

    def symbol(self, symbol: Symbol) -> Text:
        """The text of a function or class."""

    def type_name(self, value: Any) -> Text:
        """The text of a value's class."""

    def call(
        self,
        called: Text,
        args: Iterable[Any] = (),
        named: dict[str, Any] | None = None,
    ) -> Text:
        """The text of a call with values as arguments."""

    def neutral_form(self, value: Any) -> Any:
        """What a graph has for a value that has nothing below it."""
