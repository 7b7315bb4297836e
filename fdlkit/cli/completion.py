"""`fdlkit completion SHELL`: the script that a shell reads once."""

from __future__ import annotations

from fdlkit import suggest
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.errors import UserError


def flags() -> VerbFlags:
    """The flags of the verb: none."""
    return VerbFlags("completion", "bash|zsh|fish", overrides=False)


def run(parsed: Parsed) -> int:
    """Prints the script."""
    shell = flags().one(parsed, "SHELL")

    from fdlkit.completion import shells

    if shell not in shells.SHELLS:
        hint = suggest.hint(shell, shells.SHELLS)
        raise UserError(
            f"fdlkit does not complete in '{shell}'",
            *([f"  {hint}"] if hint else []),
            f"  shells: {', '.join(shells.SHELLS)}",
        )
    print(shells.script(shell), end="")
    return 0
