"""The parts that a script is read in: what is below comes first, then what uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fdlkit.codegen.carry.carrier import Section
from fdlkit.codegen.carry.homes import HOUSE, is_of

# The rooms in the order of the house's arrows, with what a reader finds in them.
_ROOMS = (
    ("errors", "Errors"),
    ("printable", "Errors"),
    ("suggest", "Errors"),
    ("keys", "Key paths"),
    ("sharding", "Sharding"),
    ("nn", "Model"),
    ("data", "Data"),
    ("train", "Training"),
)
_NAMES = [room for room, _ in _ROOMS]
_USERS = len(_ROOMS)


def rank(module: str) -> int:
    """The place of a module's part in a script."""
    if not is_of(module, HOUSE):
        return _USERS
    room = _room(module)
    return _NAMES.index(room) if room in _NAMES else _NAMES.index("train")


def _room(module: str) -> str:
    """The room of a module; of a twin, that of the originals."""
    path = module.split(".")
    return path[2] if path[1] == "eject" else path[1]


def laid_out(sections: Iterable[Section]) -> Iterator[str]:
    """Their texts with headings, where another part begins."""
    before = ""
    for section in sections:
        place = rank(section.module)
        title = section.heading if place == _USERS else _ROOMS[place][1]
        if title and title != before:
            yield heading(title.rstrip("."))
            before = title
        yield section.text


def heading(title: str) -> str:
    """A comment that parts one part from another."""
    return f"# {title}\n# {'-' * len(title)}"
