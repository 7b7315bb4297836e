"""Questions to ask of a parameter's annotation."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from typing import Any

_CONTAINERS: dict[Any, type | None] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    dict: dict,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.MutableSequence: list,
    collections.abc.Sequence: None,
    collections.abc.Collection: None,
    collections.abc.Iterable: None,
}
