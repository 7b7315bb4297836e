"""A tool's own kinds of Buildables, and a decorator that registers recipes."""

from __future__ import annotations

import functools
from typing import Generic, TypeVar

import fiddle as fdl

T = TypeVar("T")
REGISTRY: dict[str, object] = {}


class Config(Generic[T], fdl.Config[T]):
    """A config that can walk itself."""

    def walk(self, **changes):
        for name, change in changes.items():
            setattr(self, name, change(self))
        return self


class Partial(Generic[T], fdl.Partial[T]):
    """What is to be run, later and elsewhere."""


def factory(fn=None, *, name=None, target=None):
    if fn is None:
        return functools.partial(factory, name=name, target=target)

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        return fn(*args, **kwargs)

    REGISTRY[name or fn.__name__] = wrapped
    return wrapped
