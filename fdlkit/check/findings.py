"""What `check` has to say, as plain data."""

from __future__ import annotations

import dataclasses
from typing import Literal

Severity = Literal["error", "warning", "info"]

# The graver first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")

Number = int | float | str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is wrong, or that a person should know.

    Attributes:
      code: What kind of thing: `AX003`. `codes.CODES` says why it matters.
      severity: `error`: the run would fail, or silently do something else than the
        config says. `warning`: it would run, and hardly as meant. `info`: worth
        knowing.
      path: Where in the config: `model.layers.block.mlp.width`, `<root>`.
      text: What is wrong, with the numbers. The first line says it all; further ones
        tell more.
      fix: What to do, in one line.
      subject: The parameter or activation that it is about:
        `params/layers/block/mlp/up/kernel`; None if it is about the config alone.
      source: `file:line` that wrote what is at the path, if that is known.
      meant: What was likely meant: `did you mean 'tensor'?`; empty if there is no
        guess.
      numbers: The numbers of the text, by name, for programs.
      nearest: Values that would work, the nearest first, as a person writes them.
      allowed: The reason that the config gives for having it so (see `allow`), in
        which case it counts for nothing; None if it gives none.
    """

    code: str
    severity: Severity
    path: str
    text: str
    fix: str
    subject: str | None = None
    source: str | None = None
    meant: str = ""
    numbers: tuple[tuple[str, Number], ...] = ()
    nearest: tuple[str, ...] = ()
    allowed: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether it stands in the way of a run."""
        return self.severity == "error" and self.allowed is None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Code:
    """A kind of finding.

    Attributes:
      code: Two letters of the level and three digits: `AX003`. A code is never used
        again for something else.
      name: A few words: `dim that the mesh does not divide`.
      severity: Of its findings.
      why: Why it matters, in some sentences, for `fdlkit check --explain=CODE`.
    """

    code: str
    name: str
    severity: Severity
    why: str
