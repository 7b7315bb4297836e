"""Explanations of values, for people and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from fdlkit import printable
from fdlkit.graph import origins
from fdlkit.graph.chains import Hop
from fdlkit.graph.model import Origin
from fdlkit.graph.provenance import MAX_COUNT, Explanation, Maker
from fdlkit.graph.writers import Write

SCHEMA = "fdlkit.explain/1"

_MAX_VALUE = 60  # of a value's characters
_MAX_WRITES = 24  # of many the first and the last ones are shown
_MAX_INDENT = 8
_LABELS = {"factory": "default", "callable": "calls"}


def render(explanation: Explanation) -> str:
    """The explanation as text, a fact a line."""
    lines = [_headline(explanation)]
    lines += [f"  asked as {explanation.asked}"] if explanation.followed else []
    lines += [f"  through {reference}" for reference in explanation.followed]
    if explanation.node is not None:
        lines.append(f"  calls {_maker(explanation.node)}{_made(explanation.node)}")
    if explanation.tags:
        lines.append(f"  tags: {' '.join(f'#{tag}' for tag in explanation.tags)}")
    if len(explanation.paths) > 1:
        lines += _shared(explanation)
    rows = [_unset_row(write) for write in explanation.unset_above]
    if rows:
        lines += ["  part of a default:", *_columns(rows)]
    rows = [_write_row(write, explanation.path) for write in explanation.writes]
    if rows:
        lines += ["  written, oldest first:", *_columns(_few(rows))]
    rows = [_hop_row(hop) for hop in explanation.hops]
    if rows:
        lines += ["  follows:", *_columns(_few(rows))]
    lines += [f"  {line}" for line in explanation.problem]
    lines += _outcome(explanation)
    return "\n".join(map(printable.clean, lines))


def to_json(explanations: Sequence[Explanation]) -> str:
    """All of it, under a schema."""
    data = {
        "schema": SCHEMA,
        "explanations": [dataclasses.asdict(item) for item in explanations],
    }
    return json.dumps(data, indent=2)


def _headline(explanation: Explanation) -> str:
    kind = f": {explanation.annotation}" if explanation.annotation else ""
    if explanation.status in ("missing", "unset"):
        return f"{explanation.path}{kind}  (not set)"
    text = f"{explanation.path}{kind} = {_value(explanation.value)}"
    if explanation.status != "set":
        return f"{text}  (default)"
    result = explanation.result
    if result not in (None, explanation.value):
        text += f" = {_value(str(result))}"
    return text


def _shared(explanation: Explanation) -> list[str]:
    others = list(explanation.paths[1:])
    more = explanation.path_count - len(explanation.paths)
    if explanation.path_count == MAX_COUNT:
        others.append(f"and more: over {MAX_COUNT:,} paths in all")
    elif more > 0:
        others.append(f"and {more:,} more path{'s' if more > 1 else ''}")
    return [f"  also {others[0]}", *(f"       {other}" for other in others[1:])]


def _outcome(explanation: Explanation) -> list[str]:
    """What the callable is given when all is built."""
    taker = explanation.taker
    if taker is None or explanation.problem:
        return []
    inside = explanation.path
    if explanation.taker_path != "<root>":
        inside = inside.removeprefix(explanation.taker_path).removeprefix(".")
    gets = f"  {_maker(taker)} gets "
    if explanation.status == "missing" and taker.kind in ("partial", "arg_factory"):
        return [f"{gets}{inside} when it is called, or not at all"]
    if explanation.status == "missing":
        return [f"{gets}nothing for {inside}, which it needs: set it"]
    if explanation.status == "unset":
        return [f"{gets}nothing for {inside}"]
    if explanation.status == "factory":
        return [f"{gets}{inside} = {explanation.value}, made anew at each build"]
    if explanation.result is not None:
        return [f"{gets}{inside} = {_value(explanation.result)}"]
    if explanation.node is not None:
        return [f"{gets}{inside} = what {explanation.node.callable} returns"]
    return [f"{gets}{inside}, which only a build can tell"]


def _maker(maker: Maker) -> str:
    how = "" if maker.kind in ("config", "tagged_value") else f"{maker.kind} "
    defined = f" ({origins.show(maker.defined)})" if maker.defined else ""
    return f"{how}{maker.callable}{defined}"


def _made(maker: Maker) -> str:
    if maker.made is None:
        return ""
    how = "at" if maker.made.line else "by" if maker.made.cause else "from"
    return f", made {how} {origins.full(maker.made)}"


def _value(text: str) -> str:
    return printable.cut(text, _MAX_VALUE)


# A row: how far it is indented, what happened, what with, and who did it.
_Row = tuple[int, str, str, str]


def _write_row(write: Write, path: str) -> _Row:
    value = _value(write.value)
    if write.path != path:
        value = f"{write.path} = {value}" if value else write.path
    who = _who(write.origin)
    if write.cut:
        who += f"; no longer follows {write.cut}"
    return 0, _LABELS.get(write.kind, write.kind), value, who


def _unset_row(write: Write) -> _Row:
    who = _who(write.origin) if write.origin else ""
    return 0, "", f"{write.path} = {_value(write.value)}", who


def _hop_row(hop: Hop) -> _Row:
    value = f"{hop.path} = {_value(hop.value)}"
    who = "default" if hop.is_default else _who(hop.origin)
    return min(hop.level, _MAX_INDENT), "", value, who


def _who(origin: Origin | None) -> str:
    return "" if origin is None else origins.full(origin)


def _few(rows: list[_Row]) -> list[_Row]:
    if len(rows) <= _MAX_WRITES:
        return rows
    half = _MAX_WRITES // 2
    left_out = (0, "", f"… {len(rows) - 2 * half:,} more", "")
    return [*rows[:half], left_out, *rows[-half:]]


def _columns(rows: list[_Row]) -> list[str]:
    labels = max(len(label) for _, label, _, _ in rows)
    values = max(len(value) + 2 * indent for indent, _, value, _ in rows)
    lines = []
    for indent, label, value, who in rows:
        margin = "  " * indent
        head = f"{label:<{labels}}  " if labels else ""
        lines.append(f"    {head}{f'{margin}{value}':<{values}}  {who}".rstrip())
    return lines
