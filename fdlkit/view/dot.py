"""A scene in the language of Graphviz."""

from __future__ import annotations

import html

import graphviz

from fdlkit.view import colors
from fdlkit.view.boxes import SIGNS, Box, Edge, Row, Scene

# For what a viewer will set. Programs that draw know how wide its letters are without
# having it, and the fonts that a viewer takes instead have no wider ones: texts fit.
FONT = "Verdana"
# For what the program itself sets: the one that they all have, or one just as wide.
PIXEL_FONT = "Helvetica"


def dot(scene: Scene, *, font: str = FONT) -> str:
    """The text of a drawing that `dot -Tsvg` and its like draw.

    Args:
      scene: What to draw.
      font: `PIXEL_FONT` for a picture of pixels.
    """
    drawing = graphviz.Digraph(
        graph_attr={
            "rankdir": "LR",
            "ranksep": "0.7",
            "nodesep": "0.28",
            "fontname": font,
            "fontsize": "10",
            "pad": "0.25",
            "bgcolor": "white",
            "splines": "true",
        },
        node_attr={"shape": "plain", "fontname": font, "fontsize": "10"},
        edge_attr={"color": colors.EDGE, "arrowsize": "0.6", "penwidth": "1.1"},
    )
    for index, box in enumerate(scene.boxes):
        drawing.node(f"n{index}", label=_label(scene, box), tooltip=_text(box.name))
    for edge in scene.edges:
        _draw(drawing, scene, edge, font)
    return drawing.source


def _draw(drawing: graphviz.Digraph, scene: Scene, edge: Edge, font: str) -> None:
    if edge.kind == "holds":
        is_shared = scene.boxes[edge.to_box].mark > 0
        width = {"penwidth": "1.9"} if is_shared else {}
        ends = _right(edge.box, edge.row), _left(edge.to_box, None)
        drawing.edge(*ends, **{**width, **_change(edge, font)})
        return
    # Sources stand to the left as a rule: a line to them leaves on that side.
    if scene.boxes[edge.to_box].level < scene.boxes[edge.box].level:
        ends = _left(edge.box, edge.row), _right(edge.to_box, edge.to_row)
    elif edge.to_box == edge.box:
        ends = _left(edge.box, edge.row), _left(edge.to_box, edge.to_row)
    else:
        ends = _right(edge.box, edge.row), _left(edge.to_box, edge.to_row)
    attributes = {
        "style": "dashed",
        "color": colors.REFERENCE,
        "arrowhead": "vee",
        "constraint": "false",
        "penwidth": "0.9",
    }
    drawing.edge(*ends, **{**attributes, **_change(edge, font)})


def _change(edge: Edge, font: str) -> dict[str, str]:
    """How an edge looks that is only in one of two configs, or moved."""
    if not edge.change:
        return {}
    color = colors.change(edge.change).line
    if edge.change == "removed":
        return {"color": color, "style": "dotted"}
    label = {"label": f" {SIGNS[edge.change]} ", "fontcolor": color}
    return {"color": color, **label, "fontname": font, "fontsize": "10"}


def _left(box: int, row: int | None) -> str:
    return f"n{box}:head:w" if row is None else f"n{box}:k{row}:w"


def _right(box: int, row: int | None) -> str:
    return f"n{box}:head:e" if row is None else f"n{box}:r{row}:e"


def _label(scene: Scene, box: Box) -> str:
    tint = colors.tint(box.group)
    sign = SIGNS[box.change]
    change = colors.change(box.change).line
    title = f"<B>{_text(box.title)}</B>"
    if sign:
        title = f'<FONT COLOR="{change}"><B>{_text(sign)}</B></FONT> {title}'
    if box.mark:
        title += f'  <FONT COLOR="{colors.SMALL}">&amp;{box.mark}</FONT>'
    group = "" if box.group is None else scene.groups[box.group].name
    under = [group] if group else []
    if box.mark:
        under.append(f"{box.places} places")
    if under:
        size = '<FONT POINT-SIZE="8" COLOR="{}">{}</FONT>'
        title += '<BR ALIGN="LEFT"/>' + size.format(
            colors.SMALL, _text(" · ".join(under))
        )
    if box.was:
        title += f'<BR ALIGN="LEFT"/>{_font(box.was, change)}'
    title += '<BR ALIGN="LEFT"/>'
    lines = [
        f'<TR><TD PORT="head" COLSPAN="2" ALIGN="LEFT" BALIGN="LEFT" '
        f'BGCOLOR="{tint.fill}" CELLPADDING="5">{title}</TD></TR>'
    ]
    lines += [_line(number, row) for number, row in enumerate(box.rows)]
    border = 3 if box.mark else 2 if sign else 1
    style = ' STYLE="dashed"' if box.change == "removed" else ""
    return (
        f'<<TABLE BORDER="{border}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" '
        f'COLOR="{change if sign else tint.line}" BGCOLOR="white"{style}>'
        f"{''.join(lines)}</TABLE>>"
    )


def _line(number: int, row: Row) -> str:
    is_quiet = row.kind in ("default", "unset")
    key = " " * (4 * row.level) + _text(row.key)
    value = _value(row)
    notes = [_font(f"#{tag}", colors.TAG) for tag in row.tags]
    if row.set_by:
        value = f"<B>{value}</B>" if value else ""
        notes.append(_font(row.set_by, colors.OVERRIDE))
    if is_quiet:
        notes.append(_font("default" if row.kind == "default" else "not set"))
    color = colors.QUIET if is_quiet else colors.TEXT
    key = f'<FONT COLOR="{color}">{key}</FONT>'
    back = ""
    if row.change:
        change = colors.change(row.change)
        back = f' BGCOLOR="{change.fill}"'
        sign = f'<FONT COLOR="{change.line}"><B>{_text(SIGNS[row.change])}</B></FONT>'
        key = f"{sign} {key}"
        if row.was:
            value = f"{_font(row.was, colors.REMOVED.line)} → {value}"
        notes += [_font(f"({'; '.join(row.notes)})")] if row.notes else []
    return (
        f'<TR><TD PORT="k{number}" ALIGN="LEFT"{back}>{key}</TD>'
        f'<TD PORT="r{number}" ALIGN="LEFT"{back}>'
        f"{'  '.join(filter(None, [value, *notes]))}</TD></TR>"
    )


def _value(row: Row) -> str:
    if row.kind == "unset":
        return ""
    if row.kind == "node":
        mark = f"&{row.mark} " if row.mark else ""
        folded = ""
        if row.is_cut:
            folded = f" …{row.folded} nodes" if row.folded else " …"
            folded = folded.replace("…1 nodes", "…1 node")
        return _font(f"{mark}{row.text}{folded}")
    if row.kind == "reference":
        result = _font(f" = {row.result}", colors.TEXT) if row.result else ""
        return _font(row.text, colors.REFERENCE) + result
    color = colors.TEXT if row.kind == "value" else colors.QUIET
    return _font(row.text, color)


def _font(text: str, color: str = colors.QUIET) -> str:
    return f'<FONT COLOR="{color}">{_text(text)}</FONT>'


def _text(text: str) -> str:
    """Escaped for a label, where a backslash would begin the name of something."""
    return html.escape(text).replace("\\", "&#92;&#92;")
