"""`fdlkit __complete SHELL LINE [N]`: what the shells' scripts call on TAB.

Nothing is said but the answer: a message would be written over what is being typed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from fdlkit.completion import shells
from fdlkit.completion.command import Flag, Program, Verb, complete
from fdlkit.completion.words import split
from fdlkit.errors import UserError

_INSTEAD_OF_A_VERB = {"--help": "the verbs", "--version": "the version"}
# Every verb has these too, without their being the verb's own.
_EVERYWHERE = {
    "help": Flag("", "the flags of the verb"),
    "traceback": Flag("", "where an error comes from"),
    "flagfile": Flag("FILE", "read flags from a file"),
}


def run(verbs: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Prints the candidates for the last word of a line.

    Args:
      verbs: Each verb's one line, by its name.
      arguments: The shell, the line up to the cursor, and for bash the length of
        what it is going to replace.

    Raises:
      UserError: They are others: it was a person who called it.
    """
    match arguments:
        case [shell, line] if shell in shells.SHELLS:
            length = 0
        case [shell, line, number] if shell in shells.SHELLS and number.isdecimal():
            length = int(number)
        case _:
            raise UserError(
                "__complete is called by what 'fdlkit completion SHELL' prints",
                "  fdlkit completion --help",
            )
    words = split(line)
    answer = complete(words, Program(verbs, _INSTEAD_OF_A_VERB, _verb))
    print("\n".join(shells.answer_lines(shell, words[-1], answer, length)))
    return 0


def _verb(name: str) -> Verb:
    flags = importlib.import_module(f"fdlkit.cli.{name}").flags()
    own = {
        # One that may do without a value, `--name[=VALUE]`, is offered as a switch.
        flag: Flag(_value(spelling.partition("[")[0].partition("=")[2]), about)
        for flag, (spelling, about) in flags.usage_by_flag.items()
    }
    return Verb(flags.arguments, {**own, **_EVERYWHERE})


def _value(metavar: str) -> str:
    """What stands behind a flag's `=`, codes of findings written out."""
    if metavar != "CODE":
        return metavar
    from fdlkit.check.codes import CODES

    return "|".join(CODES)
