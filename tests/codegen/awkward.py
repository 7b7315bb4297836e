"""Classes and functions that are called as what generated programs use themselves."""

from __future__ import annotations

import dataclasses
from typing import Any as Anything


@dataclasses.dataclass
class _Thing:
    x: Anything = None


class P(_Thing):
    pass


class Any(_Thing):
    pass


class Callable(_Thing):
    pass


class Fresh(_Thing):
    pass


class Config(_Thing):
    pass


class int(_Thing):  # noqa: A001, N801
    pass


def build(x=None):
    return ("build", x)


def base(x=None):
    return ("base", x)


def nn(x=None):
    return ("nn", x)


def np(x=None):
    return ("np", x)


def fdl(x=None):
    return ("fdl", x)


def ref(x=None):
    return ("ref", x)


def functools(x=None):
    return ("functools", x)


def partial_with_fresh(x=None):
    return ("partial_with_fresh", x)


def match(x=None):
    return ("match", x)


def tests(x):
    return ("tests", x)
