"""A scene of two configs as text, a line a row, for golden files."""

from __future__ import annotations

from fdlkit.view.boxes import SIGNS, Box, Row
from fdlkit.view.union import Union


def described(union: Union) -> str:
    """Boxes with their rows, marks in front; then the edges that are marked."""
    lines = []
    for number, box in enumerate(union.scene.boxes):
        lines.append(_box(number, box))
        lines += [_row(row) for row in box.rows]
    for edge in union.scene.edges:
        if edge.change:
            to = f"{edge.to_box}" + ("" if edge.to_row is None else f".{edge.to_row}")
            lines.append(f"{edge.kind} {edge.box}.{edge.row} to {to}: {edge.change}")
    for section in union.sections:
        for entry in section.entries:
            row = "" if entry.row is None else f".{entry.row}"
            where = f"{entry.box}{row}"
            said = "".join(part for _, part in entry.line.parts)
            lines.append(f"{section.path} {entry.line.sign} {said} at {where}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _box(number: int, box: Box) -> str:
    mark = SIGNS[box.change] or ("*" if box.change else " ")
    shared = f" &{box.mark}" if box.mark else ""
    holder = "" if box.holder is None else f" in {box.holder[0]}.{box.holder[1]}"
    return f"{mark} [{number}] {box.title}{shared}{holder}  {box.was}"


def _row(row: Row) -> str:
    value = f"{row.was} → {row.text}" if row.was else row.text
    result = f" = {row.result}" if row.result else ""
    leads = "" if row.box is None else f" [{row.box}]"
    folded = f" …{row.folded}" if row.is_cut else ""
    tags = "".join(f" #{tag}" for tag in row.tags)
    notes = f"  ({'; '.join(row.notes)})" if row.notes else ""
    indent = "  " * row.level
    sign = SIGNS[row.change]
    return (
        f"{sign:2}    {indent}{row.key} = {value}{result}{leads}{folded}{tags}{notes}"
    )
