"""Where a path leads in a config, and reading and writing there."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
from collections.abc import Collection, Iterator
from typing import Any

import fiddle as fdl
from fiddle import history
from fiddle.experimental import auto_config

from fdlkit import suggest
from fdlkit.graph import (
    copying,
    fiddle_internals,
    names,
    origins,
    pasts,
    paths,
    references,
    reprs,
    signatures,
    walk,
)
from fdlkit.overrides import hints
from fdlkit.overrides.pieces import Step
from fdlkit.overrides.problems import BadTextError, listing, quote

MISSING = signatures.MISSING


@dataclasses.dataclass(frozen=True)
class Place:
    """An argument, an element or an entry: something that has a value or can get one.

    Attributes:
      holder: The node or the container.
      key: The argument's name, the index or the dict's key in it.
      path: The path from the root.
      annotation: What the value should be.
      above: The place of the holder itself; None if the holder is the root.
    """

    holder: Any
    key: Any
    path: paths.Path
    annotation: Any
    above: Place | None

    @property
    def label(self) -> str:
        """The path and the callable that takes the argument, for messages."""
        node: Place | None = self
        while node is not None and not isinstance(node.holder, fdl.Buildable):
            node = node.above
        owner = f" ({callable_name(node.holder)})" if node is not None else ""
        return f"{paths.brief(self.path)}{owner}"

    def get(self) -> Any:
        """What is set there; MISSING if nothing is."""
        if isinstance(self.holder, fdl.Buildable):
            return fiddle_internals.raw_arguments(self.holder).get(self.key, MISSING)
        if isinstance(self.holder, dict):
            return self.holder.get(self.key, MISSING)
        if isinstance(self.key, str):
            return getattr(self.holder, self.key)
        return self.holder[self.key]

    def get_or_default(self) -> Any:
        """What is set there, else a fresh copy of what the callable would use."""
        value = self.get()
        if value is MISSING and isinstance(self.holder, fdl.Buildable):
            return _default(fdl.get_callable(self.holder), self.key)
        return value

    def set(self, value: Any) -> None:
        """Writes a value; a tuple is replaced where it stands."""
        holder = self.holder
        if isinstance(holder, fdl.Buildable):
            if isinstance(self.key, int):
                holder[self.key] = value
            else:
                setattr(holder, self.key, value)
        elif isinstance(holder, tuple):
            index = self.key
            if isinstance(index, str):
                index = holder._fields.index(index)  # type: ignore[attr-defined]
            elements = [*holder]
            elements[index] = value
            # A NamedTuple takes its fields one by one.
            kind: Any = type(holder)
            new = kind(elements) if kind is tuple else kind(*elements)
            assert self.above is not None  # the root is a node
            with history.suspend_tracking():  # the other elements are as they were
                self.above.set(new)
            self._record(value)
        else:
            self._settle()
            holder[self.key] = value
            self._record(value)

    def unset(self) -> None:
        """Takes the value away; an argument that is not set stays so.

        Raises:
          ValueError: There is no such entry of a dict, or a NamedTuple is never without
            the value. The text says so.
        """
        if self.get() is MISSING:
            if isinstance(self.holder, dict):
                raise ValueError(no_key(self.holder, self.key, self.path[:-1]))
            return
        if isinstance(self.holder, fdl.Buildable):
            if isinstance(self.key, str):
                delattr(self.holder, self.key)
            elif _has_more_by_place(self.holder):
                del self.holder[self.key]
            else:
                fiddle_internals.delete_positional(self.holder, self.key)
        elif isinstance(self.holder, tuple):
            self._unset_in_tuple(self.holder)
        elif isinstance(self.holder, list):
            assert self.above is not None
            self._settle()
            del self.holder[self.key]
            # Those behind it have moved up.
            self.above._record(pasts.copy_containers(self.holder))
        else:
            if isinstance(self.holder, dict):
                self._settle()
                self._record(history.DELETED)
            del self.holder[self.key]

    def _unset_in_tuple(self, holder: tuple) -> None:
        fields = getattr(holder, "_fields", None)
        if fields is None:
            assert self.above is not None
            self.above.set(holder[: self.key] + holder[self.key + 1 :])
            return
        name = self.key if isinstance(self.key, str) else fields[self.key]
        defaults = getattr(holder, "_field_defaults", {})
        if name not in defaults:
            kind = type(holder).__name__
            raise ValueError(f"a {kind} is never without {quote(name)}: set it")
        self.set(_own(defaults[name]))

    def extend(self, more: Any) -> None:
        """Adds to the list, dict or set that is set here, wherever else it stands."""
        held = self.get()
        self._settle()
        if isinstance(held, list):
            held.extend(more)
        else:
            held.update(more)
        self._record(pasts.copy_containers(held))

    def _record(self, value: Any) -> None:
        """Notes who wrote here where the argument that holds it all notes writes."""
        owner, keys = self._owner()
        origins.record(owner.holder, owner.key, keys, value)

    def _settle(self) -> None:
        """Keeps what was written before from changing with what is changed in place."""
        owner, _ = self._owner()
        pasts.settle(owner.holder, owner.key)

    def _owner(self) -> tuple[Place, list[paths.PathKey]]:
        """The argument whose value this is a part of, and the way from that value."""
        place = self
        keys: list[paths.PathKey] = []
        while not isinstance(place.holder, fdl.Buildable):
            keys.insert(0, place.path[-1])
            assert place.above is not None
            place = place.above
        return place, keys


def no_key(holder: dict, key: Any, path: paths.Path) -> str:
    """That a dict has no such entry."""
    return f"no key {key!r} at {paths.brief(path)} (dict)"


def _has_more_by_place(node: fdl.Buildable) -> bool:
    """Whether the callable takes `*args`."""
    kinds = [p.kind for p in signatures.all_parameters(fdl.get_callable(node)).values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds


def callable_name(node: fdl.Buildable) -> str:
    """The public name of what a node calls, or else the name that it was given."""
    function = fdl.get_callable(node)
    if (symbol := names.find(function)) is not None:
        return symbol.name
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if module else name


def find(root: fdl.Buildable, steps: tuple[Step, ...]) -> list[Place]:
    """The places that a path leads to: one, or as many as its `**` matches.

    Raises:
      BadTextError: It leads nowhere; the wrong step is marked.
    """
    first_glob = next((i for i, step in enumerate(steps) if step.key is None), None)
    if first_glob is None:
        return [_follow(root, None, steps, root)]
    start: Any = root
    above: Place | None = None
    if first_glob > 0:
        above = _follow(root, None, steps[:first_glob], root)
        start = enter(above, steps[first_glob - 1])
    return _everywhere(root, start, above, steps[first_glob], steps[first_glob + 1 :])


def _follow(
    holder: Any, above: Place | None, steps: tuple[Step, ...], root: fdl.Buildable
) -> Place:
    place = step_to(holder, above, steps[0], root)
    for previous, step in itertools.pairwise(steps):
        place = step_to(enter(place, previous), place, step, root)
    return place


def enter(place: Place, step: Step) -> Any:
    """What stands at a place that the path goes on from; a default is written down.

    Raises:
      BadTextError: Nothing stands there, or a reference.
    """
    value = place.get()
    if value is MISSING:
        if isinstance(place.holder, dict):  # `other.k.x` where there is a key 'k.x'
            raise BadTextError(
                no_key(place.holder, place.key, place.path[:-1]),
                step.span,
                more=(f"keys: {listing(map(repr, place.holder))}",),
            )
        value = _as_node(place.get_or_default())
        if value is MISSING:
            what = f"{paths.brief(place.path)} is not set, so nothing is below it"
            raise BadTextError(what, step.span, hint="set it first: Name")
        place.set(value)
    if isinstance(value, references.Reference):
        raise BadTextError(
            f"{place.label} follows {references.show(value)}",
            step.span,
            hint=_source_hint(value),
        )
    return value


def _source_hint(reference: references.Reference) -> str:
    if not references.is_plain(reference):
        return "it is computed: set the whole of it"
    target = references.Target.parse(fiddle_internals.raw_arguments(reference)["path"])
    return f"set {paths.format(target.path)} instead, which it stands for"


def step_to(holder: Any, above: Place | None, step: Step, root: fdl.Buildable) -> Place:
    """The place that one step leads to.

    Args:
      holder: The node or container that the step is taken from.
      above: The place where it stands; None if it is the root.
      step: The step.
      root: The whole config, in which a name is looked for that is not here.

    Raises:
      BadTextError: There is no such place.
    """
    path = () if above is None else above.path
    key = step.key
    assert key is not None  # only `find` knows globs
    if isinstance(holder, fdl.Buildable):
        return _argument(holder, above, step, root)
    if isinstance(holder, dict):
        return _entry(holder, above, step)
    annotation = above.annotation if above is not None else Any
    if isinstance(holder, list | tuple):
        if isinstance(key, int) and -len(holder) <= key < len(holder):
            index = key % len(holder)
            element = hints.element_type(annotation, index)
            return Place(holder, index, (*path, index), element, above)
        if isinstance(key, str) and key in getattr(holder, "_fields", ()):
            fields = signatures.parameters(type(holder))
            element = fields[key].annotation if key in fields else Any
            return Place(holder, key, (*path, key), element, above)
        kind = type(holder).__name__
        what = f"{paths.brief(path)} is a {kind} of {len(holder)}"
        hint = f"0 to {len(holder) - 1}" if holder else "it is empty"
        raise BadTextError(f"{what}, which has no {_spelt(key)}", step.span, hint=hint)
    what = f"{paths.brief(path)} is {_short(holder)}, with nothing below it"
    more: tuple[str, ...] = ()
    if dataclasses.is_dataclass(holder) and not inspect.isclass(holder):
        what = f"{paths.brief(path)} is a built {type(holder).__name__}"
        more = (f"to change it, write fdl.Config({type(holder).__name__}, ...) there",)
    raise BadTextError(what, step.span, more=more)


def _argument(
    node: fdl.Buildable, above: Place | None, step: Step, root: fdl.Buildable
) -> Place:
    path = () if above is None else above.path
    key: Any = step.key
    known = signatures.parameters(fdl.get_callable(node))
    set_now = fiddle_internals.raw_arguments(node)
    if isinstance(key, paths.Key) and isinstance(key.value, str):
        key = key.value  # cfg['name'] is cfg.name
    if isinstance(key, int):
        return _positional(node, above, key, step)
    if key in known:
        return Place(node, key, (*path, key), known[key].annotation, above)
    if key in set_now or (
        isinstance(key, str)
        and key.isidentifier()
        and signatures.takes_any(fdl.get_callable(node))
    ):
        return Place(node, key, (*path, key), Any, above)
    raise _no_parameter(node, path, key, step, root)


def _positional(
    node: fdl.Buildable, above: Place | None, index: int, step: Step
) -> Place:
    """A positional argument by its index, as Fiddle counts them; -1 is the last."""
    path = () if above is None else above.path
    function = fdl.get_callable(node)
    by_place: list[signatures.Parameter] = []
    rest: signatures.Parameter | None = None
    for parameter in signatures.all_parameters(function).values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            rest = parameter
        elif parameter.kind in _BY_PLACE:
            by_place.append(parameter)
    set_now = fiddle_internals.raw_arguments(node)
    count = max((k + 1 for k in set_now if isinstance(k, int)), default=0)
    count = max(count, len(by_place))
    if not -count <= index < count:
        some = f"{count} positional argument{'s' if count != 1 else ''}"
        where = f"{paths.brief(path)} ({callable_name(node)})"
        more: tuple[str, ...] = ()
        if rest is not None:
            more = ("to give it others, write the whole of it: Name(value, value)",)
        raise BadTextError(
            f"{where} has {some if count else 'no positional arguments'}, "
            f"and so no [{index}]",
            step.span,
            hint=f"0 to {count - 1}" if count else "",
            more=more,
        )
    index %= count
    wanted = by_place[index] if index < len(by_place) else rest
    key: str | int = index
    is_named = wanted is not None and wanted.kind in signatures.BY_NAME
    if wanted is not None and is_named and index not in set_now:
        key = wanted.name
    annotation = Any if wanted is None else wanted.annotation
    return Place(node, key, (*path, key), annotation, above)


_BY_PLACE = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _no_parameter(
    node: fdl.Buildable, path: paths.Path, key: Any, step: Step, root: fdl.Buildable
) -> BadTextError:
    where = f"at {paths.brief(path)} ({callable_name(node)})"
    known = list(signatures.parameters(fdl.get_callable(node)))
    parameters = f"parameters: {listing(known)}"
    if not isinstance(key, str):
        what = f"no parameter {_spelt(step.key)} {where}"
        return BadTextError(what, step.span, more=(parameters,))
    what = f"no parameter {quote(key)} {where}"
    if hint := suggest.hint(key, known):
        return BadTextError(what, step.span, hint=hint, more=(parameters,))
    elsewhere = suggest.misplaced(key, every_path(root), n=1)
    if elsewhere:
        hint = suggest.did_you_mean(elsewhere[0]) or ""
        return BadTextError(what, step.span, hint=hint)
    return BadTextError(what, step.span, more=(parameters,))


def _entry(holder: dict, above: Place | None, step: Step) -> Place:
    """An entry of a dict; a key that is new may be added, unless it looks mistyped."""
    path = () if above is None else above.path
    key: Any = step.key
    if isinstance(key, paths.Key):
        key = key.value
    annotation = hints.element_type(above.annotation if above else Any, key)
    try:
        known = key in holder
    except TypeError as error:  # a list cannot be a key
        raise BadTextError(f"{key!r} cannot be a key", step.span) from error
    if not known:
        present = [k for k in holder if isinstance(k, str)]
        hint = suggest.hint(key, present) if isinstance(key, str) else None
        what = no_key(holder, key, path)
        more: tuple[str, ...] = (f"keys: {listing(map(repr, holder))}",)
        if hint or not isinstance(key, str):
            if not hint:
                more = (*more, f"to add it: {paths.brief(path)}+={{{key!r}: VALUE}}")
            raise BadTextError(what, step.span, hint=hint or "", more=more)
    return Place(holder, key, (*path, paths.of_dict_key(key)), annotation, above)


def _everywhere(
    root: fdl.Buildable,
    start: Any,
    above: Place | None,
    glob: Step,
    rest: tuple[Step, ...],
) -> list[Place]:
    """Every place below `start` from which `rest` can be followed."""
    if any(step.key is None for step in rest):
        what = "'**' may stand once in a path"
        raise BadTextError(what, next(s.span for s in rest if s.key is None))
    name = rest[0].key
    found: list[Place] = []
    present: set[str] = set()
    for holder, place in _holders(start, above):
        known: Collection[Any] = holder
        if isinstance(holder, fdl.Buildable):
            parameters = signatures.parameters(fdl.get_callable(holder))
            known = {*parameters, *fiddle_internals.raw_arguments(holder)}
        present.update(key for key in known if isinstance(key, str))
        if name in known:
            found.append(_follow(holder, place, rest, root))
    if not found:
        shown = _spelt(name)
        raise BadTextError(
            f"'**' finds no {shown} below {paths.brief(above.path if above else ())}",
            rest[0].span,
            hint=suggest.hint(str(name), sorted(present)) or "",
        )
    return found


def touched(found: list[Place]) -> str:
    """The paths of the places that an override was applied to, the first of many."""
    shown = [paths.brief(place.path) for place in found[:_TOUCHED]]
    more = f" and {len(found) - _TOUCHED:,} more" if len(found) > _TOUCHED else ""
    return ", ".join(shown) + more


def few(notes: list[str]) -> list[str]:
    """What is to be said of places that an override was applied to, of the first ten.

    Of one place there is at most one note.
    """
    if len(notes) <= _TOUCHED:
        return notes
    return [*notes[:_TOUCHED], f"and so on, at {len(notes) - _TOUCHED:,} more places"]


_TOUCHED = 10


def name_arguments(root: fdl.Buildable) -> None:
    """Gives the arguments their names that Fiddle knows by position alone, in place.

    A snapshot shows them by name, so that is how their paths are written.
    """
    seen: set[int] = set()
    todo: list[Any] = [root]
    while todo:
        value = todo.pop()
        if walk.is_leaf(value) or id(value) in seen:
            continue
        seen.add(id(value))
        if not isinstance(value, fdl.Buildable):
            todo += [child for _, child in walk.children(value)]
            continue
        set_now = fiddle_internals.raw_arguments(value)
        todo += set_now.values()
        placed = signatures.placed(fdl.get_callable(value), set_now)
        if placed.can_be_named:
            fiddle_internals.rename_arguments(value, placed.names)


def nodes(root: fdl.Buildable) -> Iterator[tuple[fdl.Buildable, Place | None]]:
    """Every node but references, once, with the place that it was first met at."""
    for holder, place in _holders(root, None):
        if isinstance(holder, fdl.Buildable):
            yield holder, place


def _holders(
    start: Any, above: Place | None
) -> Iterator[tuple[fdl.Buildable | dict[Any, Any], Place | None]]:
    """The same, and every dict: what has names below it."""
    seen: set[int] = set()
    todo: list[tuple[Any, Place | None]] = [(start, above)]
    while todo:
        value, place = todo.pop()
        if id(value) in seen or isinstance(value, references.Reference):
            continue
        below = walk.children(value)
        if below:
            seen.add(id(value))
        known: dict[str, signatures.Parameter] = {}
        if isinstance(value, fdl.Buildable):
            seen.add(id(value))
            yield value, place
            known = signatures.parameters(fdl.get_callable(value))
        elif isinstance(value, dict):
            seen.add(id(value))
            yield value, place
        path = () if place is None else place.path
        for key, child in reversed(below):
            if walk.is_leaf(child):
                continue
            if isinstance(value, fdl.Buildable):
                annotation = known[key].annotation if key in known else Any
            else:
                own = place.annotation if place is not None else Any
                annotation = hints.element_type(own, key)
            real = key.value if isinstance(key, paths.Key) else key
            todo.append((child, Place(value, real, (*path, key), annotation, place)))


def every_path(root: fdl.Buildable) -> list[str]:
    """The path of every parameter of every node, set or not, shallow ones first."""
    found = []
    met = list(nodes(root))
    texts: dict[int, str] = {}  # by the id of a place; each continues the one above
    for node, place in met:
        way = []
        at = place
        while at is not None and id(at) not in texts:
            way.append(at)
            at = at.above
        for below in reversed(way):
            above = "" if below.above is None else texts[id(below.above)]
            texts[id(below)] = above + paths.relative(below.path[-1:])
        text = "" if place is None else texts[id(place)]
        for name in signatures.parameters(fdl.get_callable(node)):
            found.append(f"{text}.{name}".removeprefix("."))
    return sorted(found, key=lambda path: path.count("."))


def _default(function: Any, key: Any) -> Any:
    """What the callable uses for an argument that is not given; a fresh copy."""
    parameter = signatures.parameters(function).get(key)
    if parameter is None:
        return MISSING
    if parameter.factory is not None:
        factory = parameter.factory
        if auto_config.is_auto_config(factory):
            return factory.as_buildable()  # type: ignore[attr-defined]
        # A class that makes its own default is a node in the making.
        if inspect.isclass(factory) and dataclasses.is_dataclass(factory):
            return fdl.Config(factory)
        return factory()
    return _own(parameter.default)


def _own(default: Any) -> Any:
    """A copy: Python shares one default among all calls, and an edit is for one."""
    own = copying.copy(default)
    if own is default and isinstance(default, list | dict | set | bytearray):
        own = copy.deepcopy(default)  # a subclass, which is a leaf of the config
    return own


def _as_node(value: Any) -> Any:
    """A default that is a dataclass's instance, as the node that would make it."""
    if not dataclasses.is_dataclass(value) or inspect.isclass(value):
        return value
    fields = {
        field.name: _as_node(_own(getattr(value, field.name)))
        for field in dataclasses.fields(value)
        if field.init
    }
    return fdl.Config(type(value), **fields)


def _spelt(key: Any) -> str:
    return quote(key) if isinstance(key, str) else paths.relative((key,))


def _short(value: Any) -> str:
    text = reprs.text(value)
    return f"{text if len(text) < 30 else text[:29] + '…'} ({type(value).__name__})"
