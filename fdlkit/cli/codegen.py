"""`fdlkit codegen TARGET --out=FILE`: a config as a Python file, proven first."""

from __future__ import annotations

import os
import pathlib
import shlex
import tempfile
from typing import TYPE_CHECKING, Any

from fdlkit.cli import output
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.targets.loading import LoadedTarget

STYLES = ("script", "build", "fiddle")

# Where an experiment is looked for if none is named.
FOLDER = "experiments"

STDOUT = "-"


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("codegen", "TARGET --out=FILE")
    flags.string("out", None, "the file to write; - is stdout", metavar="FILE")
    flags.choice(
        "style",
        "script",
        "script: a program that trains; build: plain constructor calls; "
        "fiddle: code that makes the config",
        choices=STYLES,
    )
    flags.string(
        "verify",
        "true",
        "run what was written elsewhere and compare, before the file appears",
        metavar="true|false|steps:N",
    )
    flags.choice(
        "comments",
        "none",
        "origin: say at the end of a line who wrote its value",
        choices=("none", "origin"),
    )
    return flags


def run(parsed: Parsed) -> int:
    """Writes the file; 0. If its proof fails, nothing is written, and it is 1."""
    out, style = parsed.values["out"], parsed.values["style"]
    if out is None:
        raise UserError(
            "fdlkit codegen needs a file to write",
            f"  {flags().usage()}",
            "  --out=- writes to stdout",
        )
    steps = _steps(parsed.values["verify"], style)
    if out != STDOUT:
        output.check(out, *parsed.positional)
    target = flags().one(parsed) if parsed.positional else only_experiment()
    from fdlkit.cli.targets import load_overridden

    loaded = load_overridden(target, parsed)
    if style == "script":
        text = _script(loaded, parsed, target, steps)
        output.write(text, None if out == STDOUT else out)
        return 0
    text = _text(loaded, parsed, target)
    if parsed.values["verify"] != "false":
        with only_the_answer():
            _prove(text, loaded, style, out, steps)
    output.write(text, None if out == STDOUT else out)
    return 0


def only_experiment() -> str:
    """The only experiment below `experiments/`, as a target.

    Raises:
      UserError: There is none, or there are several; those are listed.
    """
    from fdlkit.targets import listing

    found: dict[str, str] = {}
    for path in sorted(pathlib.Path(FOLDER).glob("*.py")):
        for entry in listing.experiments(path):
            found[f"{path}:{entry.name}"] = entry.summary
    if len(found) == 1:
        return next(iter(found))
    usage = f"  {flags().usage()}"
    if not found:
        raise UserError(
            f"fdlkit codegen needs a TARGET: there is no experiment in {FOLDER}/", usage
        )
    width = max(map(len, found))
    raise UserError(
        f"fdlkit codegen needs a TARGET: which experiment of {FOLDER}/?",
        *(f"  {name:<{width}}  {summary}".rstrip() for name, summary in found.items()),
    )


def _steps(verify: str, style: str) -> int | None:
    """How many losses are compared; None if none are."""
    if verify in ("true", "false"):
        return None
    name, colon, number = verify.partition(":")
    if name != "steps" or not colon or not number.isascii() or not number.isdigit():
        raise UserError(
            "fdlkit codegen: --verify is one of true, false, steps:N",
            f"  --verify={verify}",
        )
    if style != "script":
        raise UserError(
            f"--verify={verify} compares losses, and --style={style} trains nothing",
            "  --style=script writes a program that trains",
        )
    return int(number)


def _command(parsed: Parsed, target: str) -> str:
    positional = [] if parsed.positional else [target]
    return shlex.join(["fdlkit", "codegen", *positional, *parsed.argv])


def _script(
    loaded: LoadedTarget, parsed: Parsed, target: str, steps: int | None
) -> str:
    """The proven text of the style `script`."""
    with only_the_answer():
        from fdlkit.codegen.script import making

        making.refuse_comments(parsed.values["comments"])
        origin = making.origin_of(
            target, _command(parsed, target), loaded.module, loaded.function
        )
        if parsed.values["verify"] == "false":
            return making.script(loaded.cfg, origin)
        return making.proven_script(loaded.cfg, origin, steps=steps)


def _text(loaded: LoadedTarget, parsed: Parsed, target: str) -> str:
    from fdlkit.codegen.writing import Source, codegen

    command = _command(parsed, target)
    source = Source(target, command, loaded.function or "base")
    with only_the_answer():  # defaults are made by the user's own code
        return codegen(
            loaded.cfg,
            style=parsed.values["style"],
            comments=parsed.values["comments"],
            source=source,
        )


def _prove(
    text: str, loaded: LoadedTarget, style: Any, out: str, steps: int | None
) -> None:
    from fdlkit.codegen import proof, writing

    function = writing.main_name(style, loaded.function or "base")
    del steps  # of the style `script` alone
    is_file = os.path.isfile(out) or not os.path.exists(out)
    if out != STDOUT and is_file:
        # What is built for the proof may change the folder.
        beside = pathlib.Path(out).expanduser().absolute()
        proof.prove(text, loaded.cfg, style=style, function=function, beside=beside)
        return
    with tempfile.TemporaryDirectory() as folder:
        beside = pathlib.Path(folder) / "code.py"
        proof.prove(text, loaded.cfg, style=style, function=function, beside=beside)
