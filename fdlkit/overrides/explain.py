"""What a path means in a config, and who wrote what is there."""

from __future__ import annotations

import dataclasses
from typing import Any

import fiddle as fdl
from fiddle import history

from fdlkit.errors import UserError
from fdlkit.graph import copying, paths
from fdlkit.graph.paths import Path
from fdlkit.graph.provenance import Explainer, Explanation
from fdlkit.graph.references import Reference
from fdlkit.graph.writers import Write
from fdlkit.overrides import pieces, places
from fdlkit.overrides.pieces import Step
from fdlkit.overrides.places import MISSING, Place
from fdlkit.overrides.problems import BadTextError, quote, quoted_lines


def explain(cfg: fdl.Buildable, path: str) -> Explanation:
    """Who wrote the value at a path, in what order, and what it will be.

    Args:
      cfg: The config; it is not changed.
      path: Written as in an override: `model.layers[0].width`, `a.0`, `d['k']`, but
        without `**`; `<root>` for the whole config. It may lead through references
        and into defaults.

    Raises:
      UserError: The path leads nowhere, or to several places.
    """
    if _is_glob(_parsed(path)):
        raise UserError(
            f"{quote(path)} may lead to several places",
            "fdlkit.overrides.explain.explain_all explains each of them",
        )
    return explain_all(cfg, path)[0]


def explain_all(cfg: fdl.Buildable, path: str) -> tuple[Explanation, ...]:
    """The same for every place that a path with `**` in it leads to.

    Raises:
      UserError: The path leads nowhere.
    """
    steps = _parsed(path)
    try:
        if not _is_glob(steps):
            return (_explain_one(cfg, path, steps),)
        # A copy: finding writes down the defaults that the path goes on below.
        with history.suspend_tracking():
            found = places.find(copying.copy(cfg), steps)
        span = steps[0].span
        explainer = Explainer(cfg)
        return tuple(
            _explain_one(cfg, path, tuple(Step(k, span) for k in place.path), explainer)
            for place in found
        )
    except BadTextError as problem:
        raise UserError(*quoted_lines(problem, "", path)) from problem


def _parsed(path: str) -> tuple[Step, ...]:
    try:
        return pieces.parse_path(path)
    except BadTextError as problem:
        raise UserError(*quoted_lines(problem, "", path)) from problem


def _is_glob(steps: tuple[Step, ...]) -> bool:
    return any(step.key is None for step in steps)


def _explain_one(
    cfg: fdl.Buildable,
    path: str,
    steps: tuple[Step, ...],
    explainer: Explainer | None = None,
) -> Explanation:
    finder = _Finder(cfg, _explainer=explainer)
    place = finder.find(steps)
    return finder.explainer.at(
        () if place is None else place.path,
        path,
        followed=tuple(finder.followed),
        unset_above=tuple(finder.unset_above),
    )


@dataclasses.dataclass
class _Finder:
    """Goes down a path, through references and into defaults.

    Attributes:
      cfg: The config; a copy of the given one as soon as a default has to be written
        down to go on.
      followed: The references on the way, as `path = ref(...)`.
      unset_above: The defaults on the way.
    """

    cfg: fdl.Buildable
    followed: list[str] = dataclasses.field(default_factory=list)
    unset_above: list[Write] = dataclasses.field(default_factory=list)
    _explainer: Explainer | None = None
    _is_own: bool = False

    @property
    def explainer(self) -> Explainer:
        """Of the config as it is now."""
        if self._explainer is None:
            self._explainer = Explainer(self.cfg)
        return self._explainer

    def find(self, steps: tuple[Step, ...]) -> Place | None:
        """The place; None for the root.

        Raises:
          BadTextError: The path leads nowhere.
        """
        place: Place | None = None
        holder: Any = self.cfg
        for at, step in enumerate(steps):
            if place is not None:
                place, holder = self._enter(place, steps[at - 1])
            place = places.step_to(holder, place, step, self.cfg)
        is_entry = place is not None and not isinstance(place.holder, fdl.Buildable)
        if place is not None and is_entry and place.get() is MISSING:
            # Where an override could add a key, there is nothing to explain yet.
            held = ", ".join(map(repr, place.holder)) or "none"
            raise BadTextError(
                places.no_key(place.holder, place.key, place.path[:-1]),
                steps[-1].span,
                more=(f"keys: {held}",),
            )
        return place

    def _enter(self, place: Place, step: Step) -> tuple[Place, Any]:
        """What stands at a place, and where it really is."""
        value = place.get()
        if isinstance(value, Reference):
            try:
                path = self.explainer.destination(place.path)
            except KeyError as error:  # it comes to a number or the like
                what = f"{place.label} follows {value!r}, with nothing below it"
                raise BadTextError(what, step.span) from error
            except UserError as error:
                first, *more = error.lines
                raise BadTextError(first, step.span, more=tuple(more)) from error
            self.followed.append(f"{paths.format(place.path)} = {value!r}")
            place = self._place_at(path, step)
            value = place.get()
        if value is MISSING:
            if not self._is_own:
                self.cfg = copying.copy(self.cfg)
                self._is_own, self._explainer = True, None
                place = self._place_at(place.path, step)
            self.unset_above += self.explainer.defaults(place.path)
            self._explainer = None  # it has seen the config as it was
            with history.suspend_tracking():
                value = places.enter(place, step)
        return place, value

    def _place_at(self, path: Path, step: Step) -> Place:
        """The place of a path that is known to exist, no reference on its way."""
        place: Place | None = None
        holder: Any = self.cfg
        for key in path:
            if place is not None:
                holder = place.get()
            place = places.step_to(holder, place, Step(key, step.span), self.cfg)
        assert place is not None  # a reference never stands for the root
        return place
