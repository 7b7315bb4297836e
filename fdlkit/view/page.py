"""A scene as one HTML file: tree and graph side by side, with nothing to fetch.

The page's own files are in `assets/`: its frame, its looks, and two scripts, of which
`layout.js` only places boxes and `page.js` does the rest. The scene goes in as JSON,
and the scripts put texts in as texts. A policy in the page itself allows no other
script, and no address at all.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import json
import string
from collections.abc import Sequence
from importlib import resources
from typing import Any

from fdlkit import printable
from fdlkit.view import colors
from fdlkit.view.boxes import Row, Scene
from fdlkit.view.plain import shown
from fdlkit.view.union import Section, Union

# A page holds longer values than a drawing has room for.
LIMIT = 400

_MAX_TITLE = 200

# What a row has unless the page is told otherwise.
_BLANK = {
    field.name: field.default
    for field in dataclasses.fields(Row)
    if field.default is not dataclasses.MISSING
}


def page(scene: Scene, title: str) -> str:
    """The text of the file.

    Args:
      scene: What to show; `scene(graph, defaults=True)` for all of a config.
      title: What the page is called.
    """
    style = _asset("page.css") + _tints()
    script = _asset("layout.js") + _asset("page.js")
    return _whole(title, style, script, _data(scene), "")


def diff_page(
    union: Union, title: str, effects: Sequence[tuple[str, str, str, str]] = ()
) -> str:
    """The text of a file with two configs as one, and a list of their differences.

    Args:
      union: What to show; `union(compared, whole=True, defaults=True)` for all of both.
      title: What the page is called.
      effects: What the changes do, a row each: of what, old, new, the difference.
    """
    style = _asset("page.css") + _tints() + _asset("changes.css")
    script = _asset("layout.js") + _asset("changes.js") + _asset("page.js")
    data = _data(union.scene)
    data["sections"] = [_section(section) for section in union.sections]
    if effects:
        data["effects"] = list(effects)
    return _whole(title, style, script, data, _asset("changes.html"))


def _section(section: Section) -> dict[str, Any]:
    entries = []
    for entry in section.entries:
        line = entry.line
        told: dict[str, Any] = {
            "sign": line.sign,
            "style": line.style,
            "parts": [(style, printable.clean(text)) for style, text in line.parts],
            "box": entry.box,
            "row": entry.row,
        }
        if line.notes:
            told["notes"] = [printable.clean(note) for note in line.notes]
        entries.append(told)
    return {
        "path": printable.clean(section.path),
        "called": printable.clean(section.called),
        "box": section.box,
        "entries": entries,
    }


def _whole(
    title: str, style: str, script: str, data: dict[str, Any], changes: str
) -> str:
    return string.Template(_asset("page.html")).substitute(
        title=html.escape(shown(title, _MAX_TITLE)),
        policy=f"script-src '{_digest(script)}'; style-src '{_digest(style)}'",
        style=style,
        script=script,
        changes=changes,
        scene=_embedded(data),
    )


def _asset(name: str) -> str:
    files = resources.files("fdlkit.view") / "assets"
    return (files / name).read_text(encoding="utf-8")


def _data(scene: Scene) -> dict[str, Any]:
    """The scene as the script reads it; what says nothing is left out."""
    boxes = []
    for box in scene.boxes:
        told = {
            "title": box.title,
            "name": box.name,
            "mark": box.mark,
            "places": box.places,
            "rows": [_row(row) for row in box.rows],
        }
        if box.group is not None:
            told["group"] = box.group
        if box.holder is not None:
            told["holder"] = box.holder
        if box.change:
            told["change"] = box.change
        if box.was:
            told["was"] = box.was
        boxes.append(told)
    return {
        "boxes": boxes,
        "groups": [group.name for group in scene.groups],
        "references": [
            (edge.box, edge.row, edge.to_box, edge.to_row)
            + ((edge.change,) if edge.change else ())
            for edge in scene.edges
            if edge.kind == "reference"
        ],
        "tints": len(colors.LIGHT),
    }


def _row(row: Row) -> dict[str, Any]:
    names = (field.name for field in dataclasses.fields(Row) if field.name != "node")
    told = {name: getattr(row, name) for name in names}
    return {
        name: value
        for name, value in told.items()
        if name not in _BLANK or value != _BLANK[name]
    }


def _embedded(data: dict[str, Any]) -> str:
    """JSON that ends no element, whatever is in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _tints() -> str:
    """Styles for the headers of groups, light and dark."""
    rules = []
    for where, tints, none in (
        ("", colors.LIGHT, colors.NO_GROUP),
        (':root[data-theme="dark"] ', colors.DARK, colors.NO_GROUP_DARK),
    ):
        for name, tint in (*enumerate(tints), ("none", none)):
            fill, line = f"fill: {tint.fill};", f"stroke: {tint.line};"
            rules.append(f"{where}.t{name} > .head {{ {fill} }}")
            rules.append(f"{where}.t{name} > .outline {{ {line} }}")
            rules.append(f"{where}.t{name} > .swatch {{ {fill} {line} }}")
    return "\n".join(rules) + "\n"


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
