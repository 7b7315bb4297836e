"""`fdlkit show TARGET`: a config as a tree, a drawing, a page or JSON; of a bare file,
what is in it.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
from typing import TYPE_CHECKING

from fdlkit import printable
from fdlkit.cli import drawing, output
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.cli.terminal import define_color, line_width, use_color
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.graph.model import Graph
    from fdlkit.targets.listing import Entry

LISTING_SCHEMA = "fdlkit.configs/1"
FORMATS = ("tree", "json", *drawing.FORMATS, "html")


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("show", "TARGET")
    flags.choice("format", "tree", "what is written", choices=FORMATS)
    flags.string("out", None, "write to a file instead of stdout", metavar="FILE")
    flags.integer("depth", None, "show N levels of nodes", metavar="N")
    flags.string(
        "grep", None, "of the tree, what matches and the way to it", metavar="RE"
    )
    flags.boolean("where", "say at the end of each line who wrote the value")
    flags.boolean("card", "the experiment in numbers; this loads JAX")
    flags.string(
        "mesh",
        None,
        "with --card: on this mesh; -1 is the rest",
        metavar="AXIS=SIZE,...",
    )
    define_color(flags)
    return flags


def run(parsed: Parsed) -> int:
    """Shows the target; 0."""
    target = flags().one(parsed)
    out, kind = parsed.values["out"], parsed.values["format"]
    output.check(out, target)
    _check_together(target, parsed)
    program = drawing.program(kind, out, f"show {target}")
    if parsed.values["card"]:
        answer: str | bytes = _card(target, parsed)
    elif target.endswith(".py"):
        answer = f"{_listing(target, parsed)}\n"
    else:
        answer = _config(target, parsed, program)
    output.write(answer, out)
    return 0


def _check_together(target: str, parsed: Parsed) -> None:
    """Refuses flags that would do nothing together."""
    kind = parsed.values["format"]
    if parsed.values["card"]:
        _check_card(target, parsed)
    elif parsed.values["mesh"] is not None:
        raise UserError(
            "--mesh is for the card of an experiment",
            f"  fdlkit show {target} --card --mesh={parsed.values['mesh']}",
        )
    if parsed.values["where"] and target.endswith(".py"):
        raise UserError(
            f"'{target}' names a file, and --where is for a config of it",
            f"  fdlkit show {target}    lists its configs",
        )
    if parsed.values["where"] and kind != "tree":
        raise UserError(
            f"--where is for --format=tree, and this is --format={kind}",
            f"  fdlkit explain {target} PATH --format=json    tells it of one value",
        )
    if parsed.values["grep"] is not None:
        if kind != "tree" or target.endswith(".py"):
            raise UserError("--grep is for the tree of a config", *_instead(kind))
        _pattern(parsed.values["grep"])
    if parsed.values["depth"] is not None and kind == "json":
        raise UserError("--depth is for what is drawn: JSON holds the whole config")
    if target.endswith(".py") and kind not in ("tree", "json"):
        raise UserError(
            f"--format={kind} is for a config, and '{target}' names a file",
            f"  fdlkit show {target}    lists its configs",
        )


def _check_card(target: str, parsed: Parsed) -> None:
    """Refuses what a card has no use for."""
    if target.endswith(".py"):
        raise UserError(
            f"'{target}' names a file, and --card is for an experiment in it",
            f"  fdlkit show {target}    lists its configs",
        )
    if parsed.values["format"] not in ("tree", "json"):
        raise UserError(
            f"a card is text or JSON, and this is --format={parsed.values['format']}",
            f"  fdlkit show {target} --card --format=json",
        )
    for name in ("where", "grep", "depth"):
        if parsed.values[name]:
            raise UserError(f"--{name} is for the tree, and --card is no tree")


def _card(target: str, parsed: Parsed) -> str:
    """The experiment in numbers."""
    from fdlkit.check.request import Request, parse_mesh
    from fdlkit.check.subject import Subject
    from fdlkit.cli.targets import load_overridden

    mesh = parsed.values["mesh"]
    try:
        request = Request(mesh=None if mesh is None else parse_mesh(mesh))
    except UserError as error:
        first, *more = error.lines
        raise UserError(f"--mesh={mesh}: {first}", *more) from error
    subject = Subject(load_overridden(target, parsed).cfg, request)
    if subject.why_no_experiment is not None:
        raise UserError(
            f"{target} has no card: {subject.why_no_experiment}",
            "  a card is of a config of fdlkit.train.trainer.Trainer",
        )
    import jax

    from fdlkit.check import card, card_text

    # Nothing runs, so an accelerator that another program uses is left alone.
    jax.config.update("jax_platforms", "cpu")
    with only_the_answer():  # constructors are the user's own code
        told = card.card(subject)
    as_json = parsed.values["format"] == "json"
    return card_text.to_json(told) if as_json else card_text.render(told)


def _instead(kind: str) -> list[str]:
    return (
        ["  a page of --format=html has a search of its own"] if kind == "html" else []
    )


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        at = error.pos or 0
        raise UserError(
            f"--grep takes a regular expression, and this is none: {error.msg}",
            f"  --grep={text}",
            f"  {' ' * (len('--grep=') + at)}^",
            "  a character that means itself is written with a backslash: \\[ \\( \\*",
        ) from error


def _listing(target: str, parsed: Parsed) -> str:
    """What is in a file, which is not imported for it."""
    from fdlkit.targets import listing, modules

    if parsed.changes:
        raise UserError(
            f"'{target}' names a file, and overrides are for a config of it",
            f"  fdlkit show {target}    lists its configs",
        )
    entries = listing.list_configs(modules.existing(pathlib.Path(target).expanduser()))
    if parsed.values["format"] == "json":
        listed = [
            {
                "name": entry.name,
                "kind": entry.kind,
                "parameters": entry.parameters,
                "summary": entry.summary,
                "line": entry.line,
            }
            for entry in entries
        ]
        return json.dumps(
            {"schema": LISTING_SCHEMA, "file": target, "configs": listed}, indent=2
        )
    if not entries:
        return f"{target} has neither configs nor fiddlers"
    width = max(len(_call(entry)) for entry in entries)
    return "\n".join(
        printable.clean(
            f"{entry.kind:<7}  {_call(entry):<{width}}  {entry.summary}"
        ).rstrip()
        for entry in entries
    )


def _call(entry: Entry) -> str:
    return f"{entry.name}({entry.parameters})" if entry.parameters else entry.name


def _config(target: str, parsed: Parsed, program: str) -> str | bytes:
    from fdlkit.cli.targets import load_overridden
    from fdlkit.graph.snapshot import snapshot
    from fdlkit.serialize.writing import dumps
    from fdlkit.targets import loading

    kind = parsed.values["format"]
    # A JSON file is shown by its names alone; only overrides need what they name.
    graph: Graph | None = None
    if not parsed.changes:
        graph = loading.read_graph(target)
    if graph is not None:
        cfg = graph
    else:
        cfg = load_overridden(target, parsed).cfg
        with only_the_answer():  # defaults are made by the user's own code
            graph = snapshot(cfg)
    if kind == "json":
        with only_the_answer():
            return dumps(cfg)
    if kind == "tree":
        return _tree(graph, parsed, keeps_history=cfg is not graph)
    from fdlkit.view import scene

    depth = parsed.values["depth"]
    if kind == "html":
        from fdlkit.view import page

        whole = scene.scene(graph, depth=depth, defaults=True, limit=page.LIMIT)
        return page.page(whole, target)
    painted = scene.scene(graph, depth=depth)
    fewer = "--depth=N draws less"
    return drawing.drawn(painted, kind, program, fewer=fewer)


def _tree(graph: Graph, parsed: Parsed, *, keeps_history: bool) -> str:
    from fdlkit.view import grep, tree

    where = parsed.values["where"]
    if where and not keeps_history:
        target = parsed.positional[0]
        print(f"note: {target} keeps no history of its values", file=sys.stderr)
    rows = tree.tree(graph, depth=parsed.values["depth"])
    if parsed.values["grep"] is not None:
        found = grep.grep(rows, _pattern(parsed.values["grep"]))
        if not found:
            print(
                f"note: nothing matches --grep={parsed.values['grep']}", file=sys.stderr
            )
        rows = found
    if parsed.values["out"] is not None:
        return tree.render(rows, where=where)
    return tree.render(
        rows,
        where=where,
        color=use_color(parsed.values["color"], sys.stdout, os.environ),
        width=line_width(sys.stdout, os.environ),
    )
