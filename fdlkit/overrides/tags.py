"""`TAG=VALUE`: sets every argument that carries a tag."""

from __future__ import annotations

import fiddle as fdl

from fdlkit import suggest
from fdlkit.graph import fiddle_internals, signatures
from fdlkit.overrides import edits, places
from fdlkit.overrides.problems import BadTextError, listing, quote
from fdlkit.overrides.symbols import Scope


def apply(cfg: fdl.Buildable, text: str, scope: Scope) -> list[str]:
    """Sets the arguments in place; returns what is to be said about it.

    A tag is named by its class's name, alone or behind its module's: `Activation`,
    `pkg.mod.Activation`. An argument with a tag that is derived from it counts too.

    Raises:
      BadTextError: No argument carries the tag, or one refuses the value.
    """
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("#").replace(":", ".")  # pkg.mod:Width too
    if not equals or not name:
        what = f"{quote(text)} is not written like TAG=VALUE"
        raise BadTextError(what, (0, max(len(text), 1)))
    matching: list[places.Place] = []
    known: dict[str, type] = {}
    for node, place in places.nodes(cfg):
        parameters = signatures.parameters(fdl.get_callable(node))
        for key, tags in sorted(
            fiddle_internals.argument_tags(node).items(), key=lambda item: str(item[0])
        ):
            family = {c.name: c for tag in tags for c in tag.__mro__ if _is_tag(c)}
            known |= family
            if any(_is_called(tag, name) for tag in family):
                annotation = parameters[key].annotation if key in parameters else object
                path = (*(() if place is None else place.path), key)
                matching.append(places.Place(node, key, path, annotation, place))
    if not matching:
        raise _no_such_tag(name, known)
    meant = {tag for tag in known if _is_called(tag, name)}
    if len(meant) > 1:
        what = f"{quote(name)} is the name of several tags"
        raise BadTextError(what, (0, len(name)), more=(listing(sorted(meant)),))
    notes = []
    for place in matching:
        notes += edits.write(place, value, len(text) - len(value), scope)
    return [*places.few(notes), f"{text} set {places.touched(matching)}"]


def _is_tag(candidate: type) -> bool:
    return issubclass(candidate, fdl.Tag) and candidate is not fdl.Tag


def _is_called(tag: str, name: str) -> bool:
    return tag == name or tag.endswith(f".{name}")


def _no_such_tag(name: str, known: dict[str, type]) -> BadTextError:
    short = sorted({tag.rpartition(".")[2] for tag in known})
    more = (f"tags: {listing(short)}",) if known else ("this config has no tags",)
    return BadTextError(
        f"no argument has the tag {quote(name)}",
        (0, len(name)),
        hint=suggest.hint(name.rpartition(".")[2], short) or "",
        more=more,
    )
