"""A scene in the language of Mermaid, which many pages draw by themselves."""

from __future__ import annotations

from fdlkit.view import colors
from fdlkit.view.scene import Box, Edge, Row, Scene

# Mermaid takes a text apart at these before it shows it, also between quotes.
_SPECIAL = frozenset("#&<>\"`\\;|{}")


def mermaid(scene: Scene) -> str:
    """The text of a flow chart, a box a node, its values in it."""
    lines = ["flowchart LR"]
    grouped: set[int] = set()
    for number, group in enumerate(scene.groups):
        lines.append(f'  subgraph g{number}["{_text(group.name)}"]')
        for index in group.boxes:
            lines.append(f"    {_box(index, scene.boxes[index])}")
        lines.append("  end")
        grouped.update(group.boxes)
    for index, box in enumerate(scene.boxes):
        if index not in grouped:
            lines.append(f"  {_box(index, box)}")
    lines += [f"  {_edge(scene, edge)}" for edge in scene.edges]
    lines += _styles(scene)
    return "\n".join(lines) + "\n"


def _box(index: int, box: Box) -> str:
    mark = f" &{box.mark}, {box.places} places" if box.mark else ""
    lines = [f"<b>{_text(box.title)}</b>{_text(mark)}"]
    lines += [_row(row) for row in box.rows if row.box is None]
    return f'n{index}["{"<br/>".join(lines)}"]'


def _row(row: Row) -> str:
    text = "   " * row.level + row.key
    if row.kind == "unset":
        text += " is not set"
    elif row.kind == "container":
        text += ":"
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
    return _text(text + "".join(f" #{tag}" for tag in row.tags))


def _edge(scene: Scene, edge: Edge) -> str:
    row = scene.boxes[edge.box].rows[edge.row]
    label = _text(row.suffix.removeprefix(".") if edge.kind == "holds" else row.key)
    arrow = "-->" if edge.kind == "holds" else "-.->"
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
    return lines


def _text(text: str) -> str:
    """Escaped for a quoted label, by Mermaid's own codes."""
    return "".join(f"#{ord(c)};" if c in _SPECIAL else c for c in text)
