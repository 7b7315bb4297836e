"""Finding modules that are shared across the border of a repeated template.

Elsewhere, a module that two fields hold is one module: tied. A `Repeat` stacks the
parameters of its template, so a module that the template holds cannot also be one
outside: Flax would fail on a bare assertion, or untie the two in silence.
"""

from __future__ import annotations

import dataclasses

import flax.linen as nn

from fdlkit.errors import UserError
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.walk import children


class HiddenSharingError(UserError):
    """One module is on both sides of a repeated template's border."""


@dataclasses.dataclass(frozen=True)
class HiddenSharing:
    """One module on both sides of a repeated template's border.

    Attributes:
      inside: A path to it through the template.
      outside: A path to it that goes another way.
      repeat: The path of the `Repeat` that holds the template.
    """

    inside: str
    outside: str
    repeat: str


def find_hidden_sharing(
    model: nn.Module, *, root: str = "model"
) -> list[HiddenSharing]:
    """Returns the modules that a template and something outside it both hold.

    What `Repeat.shared` holds is outside; to hold it there and in the template too is
    hidden sharing like any other. Of a shared module, what is below is not reported.

    Args:
      model: A module that is not bound, as it is built.
      root: What paths begin with.
    """
    found: list[HiddenSharing] = []
    # Where a module was first met: its path, and the templates it is in, outermost
    # first, each by the path of its `Repeat`.
    met: dict[int, tuple[str, tuple[str, ...]]] = {}
    pending: list[tuple[str, tuple[str, ...], nn.Module]] = [(root, (), model)]
    while pending:
        path, templates, module = pending.pop()
        if id(module) in met:
            other_path, other_templates = met[id(module)]
            if templates != other_templates:
                found.append(border(path, templates, other_path, other_templates))
            continue
        met[id(module)] = (path, templates)
        below = []
        for field, step, child in children(module):
            inner = templates
            if isinstance(module, Repeat) and field == "block":
                inner = (*templates, path)
            below.append((path + step, inner, child))
        pending.extend(reversed(below))
    return found


def border(
    path: str,
    templates: tuple[str, ...],
    other_path: str,
    other_templates: tuple[str, ...],
) -> HiddenSharing:
    """Says which of two paths to a module is inside a template the other is not in."""
    if not set(templates) - set(other_templates):
        path, other_path = other_path, path
        templates, other_templates = other_templates, templates
    outermost = next(repeat for repeat in templates if repeat not in other_templates)
    return HiddenSharing(inside=path, outside=other_path, repeat=outermost)


def refuse_hidden_sharing(model: nn.Module, *, root: str = "model") -> None:
    """Raises if a module is shared across a repeated template's border.

    Raises:
      HiddenSharingError: The first such module, both paths named.
    """
    found = find_hidden_sharing(model, root=root)
    if not found:
        return
    first = found[0]
    more = [f"  and {len(found) - 1} more like it"] if found[1:] else []
    raise HiddenSharingError(
        "one module is used inside a repeated layer and outside it",
        f"  inside:  {first.inside}",
        f"  outside: {first.outside}",
        *more,
        f"  {first.repeat} gives each of its layers parameters of its own, so this one "
        "cannot stay one module",
        f"  to share it, put it into {first.repeat}.shared and have the block take it "
        "as an argument",
        "  to have two, make it two nodes",
    )
