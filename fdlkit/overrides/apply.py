"""Overrides, one after the other, on a copy of a config: all of them or none."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Sequence
from typing import Literal, TypeVar

import fiddle as fdl

from fdlkit.errors import UserError
from fdlkit.graph import copying, origins
from fdlkit.graph.model import Cause
from fdlkit.overrides import edits, fiddlers, places, tags
from fdlkit.overrides.problems import BadTextError, quoted_lines
from fdlkit.overrides.symbols import Scope

ConfigT = TypeVar("ConfigT", bound=fdl.Buildable)


@dataclasses.dataclass(frozen=True)
class Override:
    """One change that was asked for.

    Attributes:
      kind: `set` for `PATH=VALUE` (and `PATH+=VALUE`, `PATH*=VALUE`, `~PATH`), `tag`
        for `TAG=VALUE`, `fiddler` for `NAME` and `NAME(argument=value)`.
      text: What was asked, without the flag's name.
      flag: The flag that it came by, as it is quoted in messages.
    """

    kind: Literal["set", "tag", "fiddler"]
    text: str
    flag: str = ""

    @property
    def prefix(self) -> str:
        """What stands before the text on a command line: `--fdl_set=`."""
        return f"{self.flag or f'--fdl_{self.kind}'}="


def apply(
    cfg: ConfigT,
    overrides: Sequence[Override],
    module: types.ModuleType | None,
) -> tuple[ConfigT, tuple[str, ...]]:
    """The config that the overrides make of `cfg`, applied from left to right.

    Args:
      cfg: The config; it is not changed.
      overrides: The changes.
      module: Where fiddlers, and bare names of functions and classes, are looked up:
        the module that the config comes from. None if it comes from none.

    Returns:
      The new config, and what is to be said about it: links that were cut, arguments
      that a new callable does not take, places that a `**` touched.

    Raises:
      UserError: At least one override cannot be applied; every one that cannot is
        told of, each with its reason.
    """
    changed = copying.copy(cfg)
    places.name_arguments(changed)
    scope = Scope(() if module is None else (module,))
    notes: list[str] = []
    problems: list[str] = []
    for number, override in enumerate(overrides, 1):
        try:
            notes += _apply_one(changed, override, number, scope)
        except BadTextError as problem:
            lines = quoted_lines(problem, override.prefix, override.text)
            # Whoever prints the error says so of its first line only.
            problems += [f"error: {lines[0]}", *lines[1:]] if problems else lines
    if problems:
        raise UserError(*problems)
    return changed, tuple(notes)


def _apply_one(
    cfg: fdl.Buildable, override: Override, number: int, scope: Scope
) -> list[str]:
    flag = override.prefix.removesuffix("=")
    if override.kind == "fiddler":  # its own lines are what wrote the values
        with origins.written_by_lines(Cause(flag, number, override.text)):
            notes = fiddlers.apply(cfg, override.text, scope)
        places.name_arguments(cfg)
        return notes
    with origins.written_by(flag, number, override.text):
        edit = tags.apply if override.kind == "tag" else edits.apply
        return edit(cfg, override.text, scope)
