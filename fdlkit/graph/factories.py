"""What a `Partial` with `ArgFactory`s is built to, and calling it at any depth.

Fiddle's own partials make the factories' values by recursion, over containers too. The
ones that are made here mean the same, and are known to `fiddle.arg_factory` as such.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from fiddle import arg_factory

from fdlkit.graph import walk
from fdlkit.graph.fiddle_internals import BuiltArgFactory, InvokesFactories

# Work that yields the work it needs done first, and is sent what that returned.
_Work = Generator[Any, Any, Any]


def partial(
    function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> functools.partial[Any]:
    """Binds arguments; what an `ArgFactory` was built to is made anew at each call.

    So is a container that has some in it. A factory that stands at two places in one
    argument makes one value for both, as it is with a node that is used twice.
    """
    bound = [_promoted(value) for value in args]
    named = {name: _promoted(value) for name, value in kwargs.items()}
    made = {n: v for n, v in named.items() if isinstance(v, arg_factory.ArgFactory)}
    if made or any(isinstance(value, arg_factory.ArgFactory) for value in bound):
        function = _Invoke(function)
    # Fiddle passes factories before other keywords, which `**kwargs` can tell.
    return functools.partial(function, *bound, **(made | named))


class _Invoke(InvokesFactories):
    """Calls a function after the factories among its arguments."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _done(_call(self.func, args, kwargs))


@dataclasses.dataclass(frozen=True, eq=False)
class _Container:
    """Makes a container anew, with the values of the factories in it."""

    pattern: Any

    def __call__(self) -> Any:
        return _done(_fill(self.pattern))


def _promoted(value: Any) -> Any:
    if isinstance(value, BuiltArgFactory):
        return arg_factory.ArgFactory(value.factory)
    if _holds_factory(value):
        return arg_factory.ArgFactory(_Container(value))
    return value


def _holds_factory(value: Any) -> bool:
    todo, seen = [value], set()
    while todo:
        part = todo.pop()
        if isinstance(part, BuiltArgFactory):
            return True
        if not walk.is_leaf(part) and id(part) not in seen:
            seen.add(id(part))
            todo += [child for _, child in walk.children(part)]
    return False


def _call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> _Work:
    made = []
    for value in args:
        made.append((yield from _value(value)))
    named = {}
    for name, value in kwargs.items():
        named[name] = yield from _value(value)
    return function(*made, **named)


def _value(bound: Any) -> _Work:
    if isinstance(bound, arg_factory.ArgFactory):
        return (yield _make(bound.factory))
    return bound


def _make(factory: Callable[[], Any]) -> _Work:
    """Calls a factory; one with factories of its own after those."""
    if isinstance(factory, _Container):
        return (yield _fill(factory.pattern))
    if isinstance(factory, functools.partial) and isinstance(factory.func, _Invoke):
        return (yield _call(factory.func.func, factory.args, factory.keywords))
    return factory()


def _fill(pattern: Any) -> _Work:
    """The pattern with made values for factories; what holds none stays the same."""
    filled: dict[int, Any] = {}
    todo: list[tuple[Any, bool]] = [(pattern, False)]
    while todo:
        value, is_below_done = todo.pop()
        if id(value) in filled:
            continue
        if isinstance(value, BuiltArgFactory):
            filled[id(value)] = yield _make(value.factory)
        elif walk.is_leaf(value):
            filled[id(value)] = value
        elif not is_below_done:
            todo.append((value, True))
            todo += [(child, False) for _, child in reversed(walk.children(value))]
        else:
            below = [child for _, child in walk.children(value)]
            new = [filled[id(child)] for child in below]
            is_same = all(a is b for a, b in zip(new, below, strict=True))
            filled[id(value)] = value if is_same else walk.with_children(value, new)
    return filled[id(pattern)]


def _done(work: _Work) -> Any:
    stack = [work]
    answer: Any = None
    while stack:
        try:
            needed = stack[-1].send(answer)
        except StopIteration as end:
            stack.pop()
            answer = end.value
        else:
            stack.append(needed)
            answer = None
    return answer
