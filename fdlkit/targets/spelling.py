"""What a target's text means, before anything is opened or imported."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from typing import Literal

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.overrides.problems import cut, quote

Kind = Literal["file", "module", "json", "run"]

_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\s*(?P<arguments>\(.*\))?\s*", re.DOTALL)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclasses.dataclass(frozen=True)
class Spelling:
    """A target taken apart.

    Attributes:
      text: The whole target, as it was typed.
      kind: A Python file, an importable module, a JSON file or a run directory.
      where: The file's or directory's path, or the module's dotted name.
      function: The name after the colon; empty when there is none.
      arguments: `(hidden=64)` with its parentheses; empty when there are none.
    """

    text: str
    kind: Kind
    where: str
    function: str = ""
    arguments: str = ""

    @property
    def path(self) -> pathlib.Path:
        """The file or directory, for a target that names one."""
        return pathlib.Path(os.path.expanduser(self.where))


def parse(text: str) -> Spelling:
    """Takes a target apart; a string that cannot be one is a `UserError`."""
    text = text.strip()
    where, colon, call = _split(text)
    if where.endswith(".json"):
        return _no_function(text, "json", where, colon)
    if where.endswith(".ipynb"):
        raise UserError(
            f"{quote(where)} is a notebook, and what is in one cannot be imported",
            "  move the function into a .py file, which the notebook can import too",
        )
    if where.endswith(".py"):
        kind: Kind = "file"
    elif colon and _MODULE.fullmatch(where):
        kind = "module"
    elif not colon and where:
        return Spelling(text, "run", where)
    else:
        raise not_a_target(text)
    if not colon:
        return Spelling(text, kind, where)
    match = _CALL.fullmatch(call)
    if match is None:
        raise UserError(
            f"{quote(call)} in target {quote(text)} is not the name of a function",
            "write NAME or NAME(argument=value, ...) after the colon",
        )
    return Spelling(text, kind, where, match["name"], match["arguments"] or "")


def _split(text: str) -> tuple[str, str, str]:
    """Cuts at the colon after `.py`, else at the first colon."""
    file = re.match(r"(.+?\.(?:py|json))(:|$)", text, re.DOTALL)
    if file:
        return file[1], file[2], text[file.end() :]
    return text.partition(":")


def _no_function(text: str, kind: Kind, where: str, colon: str) -> Spelling:
    if colon:
        raise UserError(
            f"{quote(text)} names a function in a JSON file",
            f"a JSON file holds one config: write {quote(where)}",
        )
    return Spelling(text, kind, where)


def not_a_target(text: str) -> UserError:
    """That a text is no target; if only the `.py` is missing, which it means."""
    where, colon, call = text.partition(":")
    hint = []
    if where and colon and os.path.isfile(f"{where}.py"):
        hint = [f"  {suggest.did_you_mean(cut(f'{where}.py:{call}'))}"]
    elif where and os.path.isfile(where):
        hint = [f"  {cut(where)} is neither a Python file (.py) nor JSON (.json)"]
    return UserError(f"{quote(text)} is not a target", *hint, *FORMS)


FORMS = (
    "a target is one of:",
    "  path/file.py:name, path/file.py:name(argument=value)",
    "  package.module:name",
    "  config.json",
    "  a run directory",
)
