"""`fdlkit check TARGET`: what would go wrong in a run, told on no device."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fdlkit import printable
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.cli.terminal import line_width
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.check.request import Request
    from fdlkit.check.topology import Topology

HAS_ERRORS = 1


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("check", "TARGET")
    flags.string(
        "mesh",
        None,
        "check on this mesh, not on the experiment's own; -1 is the rest",
        metavar="AXIS=SIZE,...",
    )
    flags.string(
        "topology",
        None,
        "the machine that it is to run on: v4:4x4x4, h100:32, v4-128, 2xv4-128",
        metavar="KIND:CHIPS|SLICE",
    )
    flags.choice(
        "compile",
        "auto",
        "compile the step for the topology; auto: where it is a slice of TPUs by name",
        choices=("auto", "true", "false"),
    )
    flags.string(
        "restore", None, "whether these checkpoints fit the experiment", metavar="DIR"
    )
    flags.choice("format", "text", "what is written", choices=("text", "json"))
    flags.string(
        "explain", None, "only tell why a kind of finding matters", metavar="CODE"
    )
    return flags


def run(parsed: Parsed) -> int:
    """Tells the findings; 0 if no error is among them, else 1."""
    from fdlkit.check import codes

    if parsed.values["explain"] is not None:
        from fdlkit.check import text

        print(text.explain(codes.find(parsed.values["explain"])), end="")
        return 0
    target = flags().one(parsed)
    request = _request(parsed)

    from fdlkit.check import text, writing
    from fdlkit.check.report import examine
    from fdlkit.check.subject import Subject
    from fdlkit.cli.targets import load_overridden

    subject = Subject(load_overridden(target, parsed).cfg, request)
    if subject.is_experiment:
        import jax

        # Nothing runs, so an accelerator that another program uses is left alone.
        jax.config.update("jax_platforms", "cpu")
    machine = request.topology
    if request.compile and machine is not None and subject.is_experiment:
        print(printable.clean(f"note: {_way(machine)}"), file=sys.stderr)
    with only_the_answer():  # constructors are the user's own code
        report = examine(subject)
    for line in text.skipped(report):
        print(printable.clean(f"note: {line}"), file=sys.stderr)
    if parsed.values["format"] == "json":
        print(writing.write(report, target=target), end="")
    else:
        print(text.render(report, line_width(sys.stdout, os.environ)), end="")
    return HAS_ERRORS if report.has_errors else 0


def _way(machine: Topology) -> str:
    """What is done with the step for a machine."""
    if machine.is_tpu:
        return f"compiling for {machine.text}, which can take minutes"
    return (
        f"the step is lowered for {machine.kind} and not compiled: XLA compiles for a "
        "GPU only where there is one"
    )


def _request(parsed: Parsed) -> Request:
    from fdlkit.check import topology
    from fdlkit.check.report import compiles
    from fdlkit.check.request import Request, parse_mesh

    mesh, machine = parsed.values["mesh"], parsed.values["topology"]
    try:
        found = None if machine is None else topology.parse(machine)
    except UserError as error:
        first, *more = error.lines
        raise UserError(f"--topology={machine}: {first}", *more) from error
    asked = {"auto": None, "true": True, "false": False}[parsed.values["compile"]]
    compiling = compiles(found, asked)
    if compiling and found is not None and found.is_tpu:
        from fdlkit.check.aot.compiling import libtpu_version

        libtpu_version()  # refuses what could only be refused after all else
    try:
        sizes = None if mesh is None else parse_mesh(mesh)
        restore = parsed.values["restore"]
        return Request(mesh=sizes, topology=found, compile=compiling, restore=restore)
    except UserError as error:
        first, *more = error.lines
        raise UserError(f"--mesh={mesh}: {first}", *more) from error
