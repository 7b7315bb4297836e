"""Both sides' values in words, with where they came from and went."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Container
from typing import Any

from fdlkit.diff import wording
from fdlkit.diff.classes import Side, exact_key
from fdlkit.diff.matching import Matching
from fdlkit.diff.model import Said
from fdlkit.graph import texts
from fdlkit.graph.faults import BrokenReferenceError
from fdlkit.graph.model import UNKNOWN, Argument, Link, Node, Value
from fdlkit.graph.paths import PathKey
from fdlkit.graph.resolve import Resolver


class Words:
    """Words the values of two graphs that are being compared."""

    def __init__(self, old: Side, new: Side, matching: Matching):
        self._old, self._new, self._matching = old, new, matching
        self._resolvers: dict[bool, Resolver] = {}

    def apart(self, was: Value, old: Said, now: Value, new: Said) -> tuple[Said, Said]:
        """Full names, where the short ones do not tell two values apart."""
        if old.text != new.text or new.shared_with or new.moved_from:
            return old, new
        return (
            dataclasses.replace(
                old, text=wording.words(self._old.graph, was, full=True)
            ),
            dataclasses.replace(
                new, text=wording.words(self._new.graph, now, full=True)
            ),
        )

    def old(self, value: Value | None, holder: int | None) -> Said:
        """A value of the old graph, which the node `holder` holds."""
        assert value is not None
        number = self._old.node(value)
        there = None if number is None else self._matching.new_of.get(number)
        return Said(
            wording.words(self._old.graph, value),
            **self._reference(self._old, value, holder),
            moved_to=None if there is None else self._new.places.path(there),
        )

    def new(
        self,
        value: Value,
        holder: int | None,
        key: PathKey | None,
        reached: Container[int],
    ) -> Said:
        """A value of the new graph.

        Args:
          value: The value.
          holder: The node that holds it; None for the root.
          key: Its key there.
          reached: The new nodes that stand elsewhere too, before this place.
        """
        number = self._new.node(value)
        moved = shared = None
        if number is not None:
            old = self._matching.old_of.get(number)
            holders = self._new.places.holders[number]
            here = holder, None if key is None else exact_key(key)
            other = next((p for p in holders if (p[0], exact_key(p[1])) != here), None)
            if other and (old is not None or number in reached):
                shared = (*self._new.places.path(other[0]), other[1])
            elif old is not None:
                moved = self._old.places.path(old)
        return Said(
            wording.words(self._new.graph, value),
            **self._reference(self._new, value, holder),
            moved_from=moved,
            shared_with=shared,
        )

    def _reference(
        self, side: Side, value: Value, holder: int | None
    ) -> dict[str, Any]:
        node = side.graph.node(value)
        if node is None or node.kind != "reference":
            return {}
        is_new = side is self._new
        if is_new not in self._resolvers:
            self._resolvers[is_new] = Resolver(side.graph)
        resolver = self._resolvers[is_new]
        result = ""
        if holder is not None and isinstance(value, Link):
            # A broken reference is a difference like any other here.
            with contextlib.suppress(BrokenReferenceError):
                found = resolver.value(value.node, holder)
                if isinstance(found, Link):
                    result = wording.words(resolver.graph, found)
                elif found is not UNKNOWN:
                    result = texts.of_live(found)
        return {"is_reference": True, "result": result}

    def default(
        self, side: Side, node: Node, key: PathKey, argument: Argument | None
    ) -> Said | None:
        """What holds where an argument is not set; None if nothing is known to."""
        known = side.default(node, key, argument)
        if known is None:
            return None
        if known[1].default is not None:
            text = wording.words(known[0].graph, known[1].default)
            return Said(text, is_default=True)
        if known[1].factory is not None:
            return Said(f"{known[1].factory.short}()", is_default=True)
        return None
