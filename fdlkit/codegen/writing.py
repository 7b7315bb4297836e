"""From a config to the text of a program that stands for it."""

from __future__ import annotations

import dataclasses
from typing import Any

from fdlkit import suggest
from fdlkit.codegen import formatting, fresh
from fdlkit.codegen.building import BuildLowering
from fdlkit.codegen.configs import ConfigLowering
from fdlkit.codegen.printing import Names, Printed, printed
from fdlkit.codegen.program import Comments, Style
from fdlkit.errors import UserError
from fdlkit.graph.model import Graph
from fdlkit.graph.snapshot import snapshot

STYLES: tuple[Style, ...] = ("script", "build", "fiddle")


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a config came from, for the head of what is written.

    Attributes:
      target: What the user named; empty if nothing did.
      command: The whole command line that writes the file again; empty if none did.
      name: The name of the function that made the config.
    """

    target: str = ""
    command: str = ""
    name: str = "base"


def codegen(
    cfg: Any,
    *,
    style: Style = "script",
    comments: Comments = "none",
    source: Source | None = None,
) -> str:
    """The text of a Python module that stands for a config.

    The same config gives the same text in every process. Nothing is run to prove it:
    `fdlkit codegen` does that before it writes a file.

    Args:
      cfg: A config, or its graph.
      style: `script`: a program that trains the experiment; `build`: a function that
        returns what `fdlkit.build(cfg)` returns; `fiddle`: a function that returns an
        equal config.
      comments: `origin`: say at the end of a line who wrote its value.
      source: Where the config came from.

    Raises:
      UserError: Some of the config cannot be written; all of that is listed.
    """
    source = source or Source()
    if style in ("build", "fiddle"):
        return formatting.formatted(unformatted(cfg, style, comments, source))
    if style == "script":
        return _script(cfg, comments, source)
    hint = suggest.hint(style, STYLES)
    raise UserError(
        f"there is no style '{style}'",
        *([f"  {hint}"] if hint else []),
        f"  styles: {', '.join(STYLES)}",
    )


def _script(cfg: Any, comments: Comments, source: Source) -> str:
    # JAX and the training wing are loaded for this style alone.
    from fdlkit.codegen.script import making

    making.refuse_comments(comments)
    if isinstance(cfg, Graph):
        raise UserError("a script is made of a config, not of a graph")
    origin = making.origin_of(source.target, source.command, None, source.name)
    return making.script(cfg, origin)


def unformatted(
    cfg: Any, style: Style, comments: Comments = "none", source: Source | None = None
) -> str:
    """What `codegen` formats, for the styles `build` and `fiddle`."""
    graph = cfg if isinstance(cfg, Graph) else snapshot(cfg)
    write = _fiddle if style == "fiddle" else _build
    return write(graph, comments, source or Source())


def _fiddle(graph: Graph, comments: Comments, source: Source) -> str:
    program = ConfigLowering(graph, comments=comments).program()
    names = Names(main_name("fiddle", source.name))
    of = f"Equal to `{source.target}`." if source.target else ""
    parts = printed(program, names, docstring=_escaped(of))
    what = f"The config `{source.target}`" if source.target else "A config"
    head = _docstring(f"{what} as Fiddle code.", source)
    return _module(head, parts)


def _build(graph: Graph, comments: Comments, source: Source) -> str:
    lowering = BuildLowering(graph, comments=comments)
    program = lowering.program()
    helpers = fresh.SOURCES if lowering.needs_fresh else ()
    taken = fresh.NAMES if lowering.needs_fresh else frozenset()
    names = Names("build", "build_", taken)
    of = f"Returns what `{source.target}` builds." if source.target else ""
    parts = printed(program, names, docstring=_escaped(of), helpers=helpers)
    what = f"`{source.target}`" if source.target else "a config"
    head = _docstring(f"What {what} builds, as plain constructor calls.", source)
    return _module(head, parts)


def main_name(style: Style, name: str) -> str:
    """The main function of a file: of a config it is called as the one that made it."""
    if style != "fiddle":
        return "build" if style == "build" else "main"
    plain = name.rpartition(".")[2]
    return plain if plain.isidentifier() else "base"


def _docstring(first: str, source: Source) -> str:
    lines = [_escaped(first)]
    if source.command:
        lines += ["", "Written by", "", f"    {_escaped(source.command)}", ""]
    return '"""' + "\n".join(lines) + '"""'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _module(head: str, parts: Printed) -> str:
    blocks = [*parts.definitions, *parts.functions]
    first = f"{head}\n\n{parts.imports}" if parts.imports else head
    return "\n\n\n".join([first, *blocks]) + "\n"
