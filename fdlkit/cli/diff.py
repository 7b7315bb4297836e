"""`fdlkit diff A B`: what is different between two configs, and what that does."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING

from fdlkit.cli import drawing, output
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.cli.terminal import define_color, line_width, use_color
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.diff.compare import Compared
    from fdlkit.diff.model import Diff
    from fdlkit.graph.model import Graph
    from fdlkit.run.effects import Effects

TRAINER = "fdlkit.train.trainer.Trainer"

DIFFERENT = 1

FORMATS = ("text", "json", "html", *drawing.FORMATS)


@dataclasses.dataclass(frozen=True)
class _Side:
    """One of the two configs.

    Attributes:
      name: `A` or `B`.
      target: What the user named.
      parsed: The command line, with the overrides of this side.
      graph: The config's graph.
      cfg: The config; None where JSON was read by its names alone.
    """

    name: str
    target: str
    parsed: Parsed
    graph: Graph
    cfg: object


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("diff", "A B")
    flags.overrides_of_a()
    flags.choice("format", "text", "what is written", choices=FORMATS)
    flags.string("out", None, "write to a file instead of stdout", metavar="FILE")
    flags.boolean("exit_zero", "exit with 0 also if they are different")
    flags.choice(
        "effects",
        "true",
        "of two experiments, also tell what the changes do to size and cost; "
        "this loads JAX",
        choices=("true", "false"),
    )
    define_color(flags)
    return flags


def run(parsed: Parsed) -> int:
    """Shows what is different; 0 if nothing is, else 1."""
    if len(parsed.positional) != 2:
        count = len(parsed.positional)
        raise UserError(
            f"fdlkit diff takes two targets, A and B, and was given {count or 'none'}",
            f"  {flags().usage()}",
        )
    from fdlkit.diff.compare import compare

    out, kind = parsed.values["out"], parsed.values["format"]
    output.check(out, *parsed.positional)
    program = drawing.program(kind, out, f"diff {' '.join(parsed.positional)}")
    a_parsed = dataclasses.replace(parsed, changes=parsed.a_changes, side="a.")
    a = _load("A", parsed.positional[0], a_parsed)
    b = _load("B", parsed.positional[1], parsed)
    compared = compare(a.graph, b.graph)
    effects = None
    # A drawing has no room for them.
    has_effects = kind not in drawing.FORMATS and parsed.values["effects"] == "true"
    if compared.diff and has_effects:
        effects = _effects(a, b)
    if kind in ("text", "json"):
        said: str | bytes = _said(compared.diff, a, b, effects)
    else:
        said = _drawn(compared, a, b, effects, program)
    output.write(said, out)
    return DIFFERENT if compared.diff and not parsed.values["exit_zero"] else 0


def _said(
    changes: Diff, a: _Side, b: _Side, effects: tuple[Effects, Effects] | None
) -> str:
    """The changes as text or JSON."""
    from fdlkit.diff import text, writing

    parsed = b.parsed
    if parsed.values["format"] == "json":
        told = effects and {
            "old": dataclasses.asdict(effects[0]),
            "new": dataclasses.asdict(effects[1]),
        }
        said = writing.write(changes, a=a.target, b=b.target, effects=told)
    elif parsed.values["out"] is not None:
        said = text.render(changes)
    else:
        said = text.render(
            changes,
            color=use_color(parsed.values["color"], sys.stdout, os.environ),
            width=line_width(sys.stdout, os.environ),
        )
    if effects is not None and parsed.values["format"] == "text":
        said = f"{said}{table(*effects)}"
    return f"{said.rstrip()}\n"


def _drawn(
    compared: Compared,
    a: _Side,
    b: _Side,
    effects: tuple[Effects, Effects] | None,
    program: str,
) -> str | bytes:
    """Both configs as one drawing or as one page."""
    from fdlkit.view.union import union

    kind = b.parsed.values["format"]
    if kind == "html":
        from fdlkit.view import page

        whole = union(compared, whole=True, defaults=True, limit=page.LIMIT)
        title = f"{a.target} → {b.target}"
        return page.diff_page(whole, title, rows(*effects) if effects else ())
    return drawing.drawn(union(compared).scene, kind, program)


def rows(old: Effects, new: Effects) -> list[tuple[str, str, str, str]]:
    """The two experiments' sizes and costs: of what, old, new, the difference."""
    units = (new.unit,) if old.unit == new.unit else (old.unit, new.unit)
    numbers = [
        ("parameters", old.parameters, new.parameters),
        ("optimizer bytes", old.optimizer_bytes, new.optimizer_bytes),
        (
            f"{' or '.join(units)} per step",
            old.elements_per_step,
            new.elements_per_step,
        ),
        ("FLOPs per step", old.flops_per_step, new.flops_per_step),
    ]
    return [(name, f"{x:,}", f"{y:,}", _change(x, y)) for name, x, y in numbers]


def table(old: Effects, new: Effects) -> str:
    """The same side by side, as text."""
    cells = rows(old, new)
    widths = [max(len(row[n]) for row in cells) for n in range(3)]
    lines = [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}} → {row[2]:>{widths[2]}}"
        f"  {row[3]}".rstrip()
        for row in cells
    ]
    return "\n".join(["effects", *lines]) + "\n"


def _change(old: int, new: int) -> str:
    if old == new:
        return "same"
    return f"{(new - old) / old:+.1%}" if old else ""


def _load(name: str, target: str, parsed: Parsed) -> _Side:
    """A side; JSON that no override changes is read by its names alone."""
    from fdlkit.targets import loading

    graph = None if parsed.changes else loading.read_graph(target)
    if graph is not None:
        return _Side(name, target, parsed, graph, None)
    from fdlkit.cli.targets import load_overridden
    from fdlkit.graph.snapshot import snapshot

    cfg = load_overridden(target, parsed).cfg
    with only_the_answer():  # defaults are made by the user's own code
        return _Side(name, target, parsed, snapshot(cfg), cfg)


def _effects(a: _Side, b: _Side) -> tuple[Effects, Effects] | None:
    """Both sides' size and cost, if both are experiments and can be built.

    What stands in the way is a note: the differences are told all the same.
    """
    for side in (a, b):
        root = side.graph.node(side.graph.root)
        if root is None or root.callable is None or root.callable.name != TRAINER:
            return None
    found = []
    for side in (a, b):
        try:
            with only_the_answer():
                found.append(_effects_of(side))
        except UserError as error:
            why = "; ".join(line.strip() for line in error.lines[:2])
            print(f"note: no effects, because of {side.name}: {why}", file=sys.stderr)
            return None
    return found[0], found[1]


def _effects_of(side: _Side) -> Effects:
    from fdlkit.targets.loading import load_target

    cfg = side.cfg
    if cfg is None:
        cfg = load_target(side.target, allow=side.parsed.values["allow"]).cfg
    import jax

    # Nothing runs, so an accelerator that another program uses is left alone.
    jax.config.update("jax_platforms", "cpu")
    from fdlkit.run.effects import effects

    return effects(cfg)
