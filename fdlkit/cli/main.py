"""`fdlkit VERB ...`: finds the verb, runs it, and turns errors into exit codes."""

from __future__ import annotations

import dataclasses
import errno
import importlib
import os
import shutil
import sys
import traceback
from collections.abc import Sequence

from fdlkit import printable, suggest
from fdlkit.cli import streams
from fdlkit.errors import RunFailedError, UserError, is_interrupt
from fdlkit.overrides.problems import quote

INTERRUPTED = 130

# What a stream says that cannot take the answer.
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb; its module in this package has `flags() -> VerbFlags` and
    `run(parsed) -> int`, and is imported when the verb is called.

    Attributes:
      name: What is typed, and the module's name.
      usage: What follows it.
      summary: One line for the overview.
    """

    name: str
    usage: str
    summary: str


VERBS = (
    Verb("show", "TARGET", "look at a config, or list the configs of a file"),
    Verb("explain", "TARGET PATH", "who wrote a value, and what it will be"),
    Verb("diff", "A B", "what is different between two configs"),
    Verb("check", "TARGET", "find what would go wrong in a run, on no device"),
    Verb("golden", "TARGET…", "whether configs are still what is kept of them"),
    Verb("codegen", "TARGET --out=FILE", "a config as a Python file of its own"),
    Verb("train", "TARGET --workdir=DIR", "train the model of an experiment"),
    Verb("sample", "RUN_DIR --prompt=TEXT", "have a trained language model write"),
    Verb("data", "TARGET", "look at an experiment's data"),
    Verb(
        "completion",
        "bash|zsh|fish",
        "print the script that lets a shell complete fdlkit",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code.

    Args:
      argv: The command line without the program's name; None means this process's.

    Returns:
      0: done. 1: it ran, and the answer is no. 2: refused before anything ran or was
      written. 130: interrupted. A verb may return others.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    streams.prepare()
    show_traceback = "--traceback" in arguments
    arguments = [a for a in arguments if a != "--traceback"]
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except UserError as error:
        if show_traceback:
            _print_traceback()
        else:
            _print_error(error)
        return error.exit_code
    except (KeyboardInterrupt, BaseExceptionGroup) as error:
        if not is_interrupt(error):
            raise
        if show_traceback:
            _print_traceback()
        streams.tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        streams.give_up(sys.stdout)  # whoever read the answer has seen enough
        return 0
    except OSError as error:
        if error.errno not in _NOT_WRITTEN:
            raise
        streams.tell(f"error: the answer cannot be written: {error.strerror}")
        streams.give_up(sys.stdout)
        return RunFailedError.exit_code


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        print(_overview(), file=sys.stderr)
        return UserError.exit_code
    name, rest = arguments[0], arguments[1:]
    if name in ("--help", "-h", "-help", "help"):
        print(_overview())
        return 0
    if name == "--version":
        print(f"fdlkit {_version()}")
        return 0
    if name == "__complete":  # typed by the shells' scripts, never by a person
        complete = importlib.import_module("fdlkit.cli.complete")
        return complete.run({verb.name: verb.summary for verb in VERBS}, rest)
    verb = next((verb for verb in VERBS if verb.name == name), None)
    if verb is None:
        raise _unknown_verb(name)
    module = importlib.import_module(f"fdlkit.cli.{verb.name}")
    flags = module.flags()
    before_dashes = rest[: rest.index("--")] if "--" in rest else rest
    if any(a in ("--help", "-h", "-help") for a in before_dashes):
        width = shutil.get_terminal_size().columns
        print(flags.help(f"{verb.summary[0].upper()}{verb.summary[1:]}.", width))
        return 0
    parsed = flags.parse(rest)
    _refuse_a_lost_place()
    return module.run(parsed)


def _refuse_a_lost_place() -> None:
    """Raises a `UserError` where no config can be found, or Fiddle not be imported."""
    try:
        os.getcwd()
    except OSError as error:
        raise UserError(
            "the current folder is not there any more", "  cd to one that is"
        ) from error
    if sys.flags.optimize > 1:
        raise UserError(
            "python -OO takes docstrings away, and Fiddle does not work without them",
            "  run it without -OO (and without PYTHONOPTIMIZE=2)",
        )


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("fdlkit")
    except metadata.PackageNotFoundError as error:
        raise UserError(
            "fdlkit is not installed here, so it has no version",
            "  it runs from its sources; make setup installs it",
        ) from error


def _overview() -> str:
    width = max(len(f"{verb.name} {verb.usage}") for verb in VERBS)
    lines = ["usage: fdlkit VERB ...", "", "verbs:"]
    for verb in VERBS:
        lines.append(f"  {f'{verb.name} {verb.usage}':<{width}}  {verb.summary}")
    return "\n".join(
        [
            *lines,
            "",
            "A TARGET is path/file.py:name, package.module:name, config.json or a run",
            "directory. After it may stand, any number of times, from left to right:",
            "  --fdl_set=PATH=VALUE  --fdl_tag=TAG=VALUE  --fdl_fiddler=NAME(...)",
            "",
            "  fdlkit VERB --help    the flags of a verb",
            "  fdlkit --version      the version",
            "  --traceback           after any verb: where an error comes from",
        ]
    )


def _unknown_verb(name: str) -> UserError:
    names = [verb.name for verb in VERBS]
    if name.startswith("-"):
        kind, hint = "flag", suggest.hint(name, ["--help", "--version", "--traceback"])
    else:
        kind, hint = "verb", suggest.hint(name, names)
    return UserError(
        f"fdlkit has no {kind} {quote(name)}",
        *([f"  {hint}"] if hint else []),
        f"  verbs: {', '.join(names)}",
    )


def _print_traceback() -> None:
    # The text of a user's exception may hold what would act on the terminal.
    streams.tell(*printable.lines(traceback.format_exc()))


def _print_error(error: UserError) -> None:
    streams.tell(f"error: {error.lines[0]}")
    for line in error.lines[1:]:
        # Details stand below what is wrong; a further problem stands beside it.
        indent = "" if line.startswith((" ", "error: ")) else "  "
        streams.tell(f"{indent}{line}")
