"""`fdlkit show TARGET`: a config as a tree or JSON; of a bare file, what is in it."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING

from fdlkit import printable
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.cli.terminal import answer, define_color, line_width, use_color
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.graph.model import Graph
    from fdlkit.targets.listing import Entry

LISTING_SCHEMA = "fdlkit.configs/1"


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("show", "TARGET")
    flags.choice("format", "tree", "what is written", choices=("tree", "json"))
    flags.string("out", None, "write to a file instead of stdout", metavar="FILE")
    flags.integer("depth", None, "show N levels of nodes", metavar="N")
    flags.boolean("where", "say at the end of each line who wrote the value")
    define_color(flags)
    return flags


def run(parsed: Parsed) -> int:
    """Shows the target; 0."""
    target = flags().one(parsed)
    _refuse_where(target, parsed)
    text = (
        _listing(target, parsed) if target.endswith(".py") else _config(target, parsed)
    )
    answer(text, parsed.values["out"])
    return 0


def _refuse_where(target: str, parsed: Parsed) -> None:
    """Only a tree has lines that an origin can stand at."""
    if not parsed.values["where"]:
        return
    if target.endswith(".py"):
        raise UserError(
            f"'{target}' names a file, and --where is for a config of it",
            f"  fdlkit show {target}    lists its configs",
        )
    if parsed.values["format"] == "json":
        raise UserError(
            "--where is for --format=tree: a config's JSON keeps no history",
            f"  fdlkit explain {target} PATH --format=json    tells it of one value",
        )


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


def _config(target: str, parsed: Parsed) -> str:
    from fdlkit.cli.targets import load_overridden
    from fdlkit.graph.snapshot import snapshot
    from fdlkit.serialize.writing import dumps
    from fdlkit.targets import loading

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
    if parsed.values["format"] == "json":
        with only_the_answer():
            return dumps(cfg).rstrip("\n")
    from fdlkit.view import tree

    where = parsed.values["where"]
    if where and cfg is graph:
        print(f"note: {target} keeps no history of its values", file=sys.stderr)
    rows = tree.tree(graph, depth=parsed.values["depth"])
    if parsed.values["out"] is not None:
        return tree.render(rows, where=where).rstrip("\n")
    return tree.render(
        rows,
        where=where,
        color=use_color(parsed.values["color"], sys.stdout, os.environ),
        width=line_width(sys.stdout, os.environ),
    ).rstrip("\n")
