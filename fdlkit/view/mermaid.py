"""A scene in the language of Mermaid, which many pages draw by themselves."""

from __future__ import annotations

from fdlkit.view import colors
from fdlkit.view.boxes import SIGNS, Box, Edge, Row, Scene

# Mermaid takes a text apart at these before it shows it, also between quotes.
_SPECIAL = frozenset('#&<>"`\\;|{}')


# What Mermaid draws unless the page that runs it says otherwise (`maxTextSize`,
# `maxEdges`); a drawing is not allowed to set these itself.
_MAX_TEXT = 50_000
_MAX_EDGES = 500

# Mermaid would break lines that are longer than its own 200 pixels.
_SETTINGS = '%%{init: {"flowchart": {"wrappingWidth": 480}}}%%'


def mermaid(scene: Scene) -> str:
    """The text of a flow chart, a box a node, its values in it.

    Groups are named in their boxes: as boxes around boxes Mermaid would lay them out
    so that edges run through what is between them.
    """
    lines = [_SETTINGS, "flowchart LR"]
    for index, box in enumerate(scene.boxes):
        lines.append(f"  {_box(scene, index, box)}")
    lines += [f"  {_edge(scene, edge)}" for edge in scene.edges]
    lines += _styles(scene)
    return "\n".join(lines) + "\n"


def beyond_limits(scene: Scene, text: str) -> list[str]:
    """Why most pages will not draw a text, a line a reason; nothing if they will."""
    found = []
    if len(text) > _MAX_TEXT:
        found.append(
            f"this text has {len(text):,} characters, and Mermaid draws "
            f"{_MAX_TEXT:,} unless its page sets maxTextSize"
        )
    if len(scene.edges) > _MAX_EDGES:
        found.append(
            f"this drawing has {len(scene.edges):,} edges, and Mermaid draws "
            f"{_MAX_EDGES} unless its page sets maxEdges"
        )
    return found


def _box(scene: Scene, index: int, box: Box) -> str:
    under = [] if box.group is None else [scene.groups[box.group].name]
    if box.mark:
        under.append(f"&{box.mark}, {box.places} places")
    sign = f"{SIGNS[box.change]} " if SIGNS[box.change] else ""
    lines = [f"<b>{_text(sign + box.title)}</b>"]
    if box.was:
        under.append(box.was)
    if under:
        lines.append(f"<i>{_text(', '.join(under))}</i>")
    lines += [_row(row) for n, row in enumerate(box.rows) if _is_told(box, n)]
    return f'n{index}["{"<br/>".join(lines)}"]'


def _is_told(box: Box, number: int) -> bool:
    """Whether a row says what no edge does: not so a container of boxes alone."""
    row = box.rows[number]
    if row.change and (row.box is None or row.notes):
        return True
    if row.kind != "container":
        return row.box is None
    for below in box.rows[number + 1 :]:
        if below.level <= row.level:
            break
        if below.change or (below.kind != "container" and below.box is None):
            return True
    return False


def _row(row: Row) -> str:
    sign = f"{SIGNS[row.change]} " if row.change else ""
    text = sign + "   " * row.level + row.key
    if row.kind == "unset":
        text += " is not set"
    elif row.kind == "container":
        text += ":"
    elif row.was:
        text += f" = {row.was} → {row.text}"
    else:
        text += f" = {row.text}"
    if row.result:
        text += f" = {row.result}"
    if row.is_cut:
        mark = f" &{row.mark}" if row.mark else ""
        count = f"{row.folded} node{'s' * (row.folded > 1)}" if row.folded else ""
        text += f"{mark} …{count}"
    if row.kind == "default":
        text += " (default)"
    if row.set_by:
        text += f" ({row.set_by})"
    text += "".join(f" #{tag}" for tag in row.tags)
    return _text(f"{text} ({'; '.join(row.notes)})" if row.notes else text)


def _edge(scene: Scene, edge: Edge) -> str:
    row = scene.boxes[edge.box].rows[edge.row]
    label = row.suffix.removeprefix(".") if edge.kind == "holds" else row.key
    label = _text(f"{SIGNS[edge.change]} {label}".lstrip())
    is_solid = edge.kind == "holds" and edge.change != "removed"
    arrow = "-->" if is_solid else "-.->"
    return f'n{edge.box} {arrow}|"{label}"| n{edge.to_box}'


def _styles(scene: Scene) -> list[str]:
    lines = []
    for number, group in enumerate(scene.groups):
        tint = colors.tint(number)
        names = ",".join(f"n{index}" for index in group.boxes)
        style = f"fill:{tint.fill},stroke:{tint.line},color:{colors.TEXT}"
        lines.append(f"  classDef c{number} {style},text-align:left")
        lines.append(f"  class {names} c{number}")
    shared = [f"n{index}" for index, box in enumerate(scene.boxes) if box.mark]
    if shared:
        lines.append("  classDef shared stroke-width:3px")
        lines.append(f"  class {','.join(shared)} shared")
    for mark in ("added", "removed", "changed"):
        boxes = [f"n{n}" for n, box in enumerate(scene.boxes) if box.change == mark]
        dashes = ",stroke-dasharray:5 4" if mark == "removed" else ""
        if boxes:
            style = f"stroke:{colors.change(mark).line},stroke-width:2px{dashes}"
            lines += [f"  classDef {mark} {style}", f"  class {','.join(boxes)} {mark}"]
    references = [
        str(number)
        for number, edge in enumerate(scene.edges)
        if edge.kind == "reference" and not edge.change
    ]
    if references:
        lines.append(f"  linkStyle {','.join(references)} stroke:{colors.REFERENCE}")
    for mark in ("added", "removed", "moved"):
        marked = [str(n) for n, edge in enumerate(scene.edges) if edge.change == mark]
        if marked:
            color = colors.change(mark).line
            lines.append(f"  linkStyle {','.join(marked)} stroke:{color}")
    return lines


def _text(text: str) -> str:
    """Escaped for a quoted label, by Mermaid's own codes."""
    return "".join(f"#{ord(c)};" if c in _SPECIAL else c for c in text)
