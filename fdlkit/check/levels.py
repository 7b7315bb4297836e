"""The levels of a check, in the order in which they run."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fdlkit import suggest
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.check.findings import Finding
    from fdlkit.check.subject import Subject


@dataclasses.dataclass(frozen=True)
class Level:
    """One level; its module has `find(subject) -> Iterator[Finding]`.

    The module is imported when the level runs, so that a config of anything can be
    checked where JAX is not.

    Attributes:
      name: What a person calls it.
      letters: What its codes begin with.
      module: Where its `find` is.
      of_experiments: Whether only a config of a `Trainer` has what it looks at.
      of_compiling: Whether it runs only where the step is to be compiled.
    """

    name: str
    letters: str
    module: str
    of_experiments: bool = True
    of_compiling: bool = False

    def find(self, subject: Subject) -> Iterator[Finding]:
        """What the level has to say of a config."""
        return importlib.import_module(self.module).find(subject)


LEVELS = (
    Level("config", "CF", "fdlkit.check.config", of_experiments=False),
    Level("axes", "AX", "fdlkit.check.axes"),
    Level("shapes", "SH", "fdlkit.check.shapes"),
    Level("bytes", "BY", "fdlkit.check.memory"),
    Level("restore", "RE", "fdlkit.check.restoring"),
    Level("compile", "CO", "fdlkit.check.compiling", of_compiling=True),
    Level("environment", "EN", "fdlkit.check.environment", of_experiments=False),
)


def named(names: Iterable[str] | None) -> tuple[Level, ...]:
    """The levels of these names, in their own order; all for None.

    Raises:
      UserError: There is no such level.
    """
    if names is None:
        return LEVELS
    wanted = tuple(names)
    known = [level.name for level in LEVELS]
    for name in wanted:
        if name not in known:
            hint = suggest.hint(name, known)
            raise UserError(
                f"check has no level {name!r}",
                *([f"  {hint}"] if hint else []),
                f"  levels: {', '.join(known)}",
            )
    return tuple(level for level in LEVELS if level.name in wanted)
