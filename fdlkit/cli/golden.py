"""`fdlkit golden TARGET...`: whether configs are still what is kept of them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.errors import RunFailedError, UserError
from fdlkit.overrides.problems import cut

if TYPE_CHECKING:
    from fdlkit.golden.keeping import Outcome

DRIFTED = RunFailedError.exit_code


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("golden", "TARGET…")
    flags.hide_overrides()
    flags.boolean("update", "keep what the configs are now")
    flags.string(
        "dir", None, "where the files are; golden/ beside each target's", metavar="DIR"
    )
    return flags


def run(parsed: Parsed) -> int:
    """Compares each target with its golden files; 1 if one of them has drifted.

    Raises:
      UserError: A target cannot be made or built; the others are told all the same,
        and nothing is written.
    """
    targets = tuple(dict.fromkeys(parsed.positional))
    _check(targets, parsed)
    outcomes, problems = [], []
    for target in targets:
        try:
            outcomes.append(_outcome(target, parsed))
        except UserError as error:
            problems.append(error)
    _refuse_two_in_one_place(outcomes)
    is_updated = parsed.values["update"] and not problems
    if is_updated:
        from fdlkit.golden import keeping

        keeping.update(outcomes)
    for outcome in outcomes:
        lines = outcome.lines(is_written=is_updated)
        print("\n  ".join([_head(outcome, is_updated), *lines]))
    if problems:
        raise _refused(problems, parsed)
    drifted = [outcome.name for outcome in outcomes if not outcome.is_same]
    if not drifted or is_updated:
        return 0
    print(f"to accept: {_command(drifted, parsed)}")
    return DRIFTED


def _check(targets: Sequence[str], parsed: Parsed) -> None:
    """Refuses what could not be meant, before any work is done for it."""
    if not targets:
        raise UserError("fdlkit golden needs a TARGET", f"  {flags().usage()}")
    if parsed.changes:
        raise UserError(
            "fdlkit golden keeps what a target is, without overrides",
            "  to see what they change:",
            f"    fdlkit diff {targets[0]} {targets[0]} --fdl_set=...",
            "  to keep what comes of them, write a function that makes them",
        )
    folder = parsed.values["dir"]
    if folder is not None and not os.path.isdir(folder):
        raise UserError(
            f"there is no folder {cut(folder)}",
            f"  to make it: mkdir -p {cut(folder)}",
        )


def _outcome(target: str, parsed: Parsed) -> Outcome:
    from fdlkit.cli.targets import load_overridden
    from fdlkit.golden import keeping, places, texts

    loaded = load_overridden(target, parsed)
    place = places.place(target, loaded.file, parsed.values["dir"])
    _use_no_accelerator()
    with only_the_answer():
        found = texts.texts(loaded.cfg)
    return keeping.compare(target, found, place)


def _use_no_accelerator() -> None:
    """Nothing runs, so an accelerator that another program uses is left alone."""
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_platforms", "cpu")


def _refuse_two_in_one_place(outcomes: Iterable[Outcome]) -> None:
    first: dict[str, Outcome] = {}
    for outcome in outcomes:
        file = outcome.files[0]
        other = first.setdefault(os.path.realpath(file.path), outcome)
        if other.files[0].new != file.new:  # not one config, spelt in two ways
            raise UserError(
                f"{other.name} and {outcome.name} have one file, {file.path}",
                "  without --dir each is kept beside its own file",
            )


def _head(outcome: Outcome, is_updated: bool) -> str:
    if outcome.is_same:
        return f"{outcome.name} is as kept"
    if is_updated:
        return f"{outcome.name} is kept as it is now"
    return f"{outcome.name} is not as kept"


def _refused(problems: Sequence[UserError], parsed: Parsed) -> UserError:
    first, *others = problems
    lines = [*first.lines[1:]]
    for error in others:
        lines += [f"error: {error.lines[0]}", *error.lines[1:]]
    if parsed.values["update"]:
        lines.append("so nothing was written")
    return UserError(first.lines[0], *lines)


def _command(targets: Sequence[str], parsed: Parsed) -> str:
    words = ["fdlkit", "golden", *targets, "--update"]
    if parsed.values["dir"] is not None:
        words.append(f"--dir={parsed.values['dir']}")
    words += [f"--allow={module}" for module in parsed.values["allow"]]
    return shlex.join(words)
