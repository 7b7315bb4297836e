"""References: a value that another path decides, written once.

`ref("num_train_steps")` stands for the argument of that name at the root of what is
built, `ref("..hidden")` for one of the enclosing node (one dot is the node that
holds the reference, each further dot the node around it), `ref("^hidden")` for the
nearest enclosing node that has the parameter. Numbers can be made of them:
`ref("^hidden") * 4`. `fdlkit.build` puts the values in.
"""

from __future__ import annotations

import dataclasses
import numbers
import operator
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any, NoReturn

import fiddle as fdl
from fiddle.experimental import auto_config

from fdlkit import tracebacks
from fdlkit.errors import UserError
from fdlkit.graph import fiddle_internals, leaf_texts, paths, reprs
from fdlkit.graph.model import Graph, Leaf, Link
from fdlkit.graph.paths import Path

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
}

# Of a computed reference, the longest side that is written out.
_MAX_SIDE = 120

# How tightly each operator binds; a side that binds less gets parentheses.
_ATOM = 3
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2}


class UnresolvedReferenceError(UserError, TypeError):
    """A reference was used as if its value were known already."""


def reference(path: str) -> NoReturn:
    """The callable of a plain reference; only its signature is ever used."""
    raise UnresolvedReferenceError(f"ref({path}) is a reference: use fdlkit.build")


def arithmetic(operator: str, left: Any, right: Any) -> NoReturn:
    """The callable of a computed reference; only its signature is ever used."""
    raise UnresolvedReferenceError("a reference was called: use fdlkit.build")


def _unknown_yet(use: str) -> Callable[..., NoReturn]:
    def refuse(self: Reference, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnresolvedReferenceError(
            f"{show(self)} has no value yet, so {use} it does not work",
            "its value is put in by fdlkit.build; "
            "+ - * / and // make a new reference that is computed then",
        )

    return refuse


class Reference(fdl.Buildable):
    """A node that stands for another path's value; `ref` makes one."""

    # Keeps NumPy scalars from taking `np.float32(2) * ref("x")` for themselves.
    __array_ufunc__ = None

    def __build__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnresolvedReferenceError(
            f"{show(self)} is a reference, which fdl.build cannot build: "
            "use fdlkit.build"
        )

    def __add__(self, other: Any) -> Any:
        return _compute("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return _compute("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return _compute("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _compute("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return _compute("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _compute("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _compute("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _compute("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _compute("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _compute("//", other, self)

    __bool__ = _unknown_yet("testing")
    __int__ = _unknown_yet("int() of")
    __float__ = _unknown_yet("float() of")
    __complex__ = _unknown_yet("complex() of")
    __index__ = _unknown_yet("counting with")
    __round__ = _unknown_yet("rounding")
    __len__ = _unknown_yet("len() of")
    __lt__ = _unknown_yet("comparing")
    __le__ = _unknown_yet("comparing")
    __gt__ = _unknown_yet("comparing")
    __ge__ = _unknown_yet("comparing")
    __iter__ = _unknown_yet("looping over")
    __contains__ = _unknown_yet("looking into")
    __getitem__ = _unknown_yet("indexing")
    __setitem__ = _unknown_yet("writing into")
    __call__ = _unknown_yet("calling")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        arguments = fiddle_internals.raw_arguments(self)
        if name in arguments:
            return arguments[name]
        raise AttributeError(
            f"{show(self)} has no attributes; for one of the value it stands for, "
            f"write the longer path: ref('PATH.{name}')"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            _note_comparison(self, sys._getframe(1))
            return False
        return _is_written_alike(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return show(self)


def _compute(symbol: str, left: Any, right: Any) -> Any:
    for side in (left, right):
        if not isinstance(side, Reference | numbers.Number | str):
            return NotImplemented
    return Reference(arithmetic, symbol, left, right)


def _ref(path: str) -> Any:
    """A value that is decided elsewhere in the config.

    Args:
      path: Absolute (`"num_train_steps"`, `"model.layers.n"`), relative
        (`"..hidden"`) or upward (`"^hidden"`).

    Returns:
      A reference. It can stand for any argument or list element, and be used with
      `+`, `-`, `*`, `/` and `//`.

    Raises:
      PathError: `path` is none of these.
    """
    Target.parse(path)
    return Reference(reference, path)


# Inside an `@auto_config` function calls become configs; a reference already is one.
ref = auto_config.exempt(_ref)


@dataclasses.dataclass(frozen=True)
class Target:
    """What a reference's path means.

    Attributes:
      start: Where to start: `root`, `own` (the node that holds the reference, or one
        around it) or `nearest` (the nearest enclosing node that has the parameter).
      up: For `own`: how many nodes further out than the holder.
      path: The way from there. For `nearest` it begins with the parameter's name.
    """

    start: str
    up: int
    path: Path

    @classmethod
    def parse(cls, text: str) -> Target:
        """Reads a reference's path.

        Raises:
          PathError: The text is no reference path.
        """
        if text.startswith("^"):
            path = _parse_tail(text, 1)
            if not isinstance(path[0], str):
                raise paths.PathError(text, 1)
            return cls("nearest", 0, path)
        dots = len(text) - len(text.lstrip("."))
        if dots:
            return cls("own", dots - 1, _parse_tail(text, dots))
        return cls("root", 0, _parse_tail(text, 0))


def _parse_tail(text: str, position: int) -> Path:
    try:
        path = paths.parse(text[position:])
    except paths.PathError as error:
        raise paths.PathError(text, position + error.position) from None
    if not path:  # a node around the reference would be built before itself
        raise paths.PathError(text, position)
    return path


def is_plain(node: Reference) -> bool:
    """Whether it is a bare path; otherwise it is a computation."""
    return fdl.get_callable(node) is reference


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A line of the user's that compared a reference with a value.

    It cannot be refused as `<` is: Fiddle, and whoever looks for a value in a list,
    compares everything with everything. So it is kept, for `check` to tell.
    """

    file: str
    line: int


_COMPARED = "__compared__"


def _note_comparison(node: Reference, frame: types.FrameType) -> None:
    file = frame.f_code.co_filename
    if tracebacks.is_users(file):
        # An attribute of a Buildable is an argument; this one is not.
        node.__dict__[_COMPARED] = Comparison(file, frame.f_lineno)


def comparison(node: Reference) -> Comparison | None:
    """Where the user's own code last compared a reference with a value, if it did."""
    return vars(node).get(_COMPARED)


def _is_written_alike(one: Reference, two: Reference) -> bool:
    todo: list[tuple[Any, Any]] = [(one, two)]
    seen: set[tuple[int, int]] = set()
    while todo:
        a, b = todo.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if not (isinstance(a, Reference) and isinstance(b, Reference)):
            if type(a) is not type(b) or repr(a) != repr(b):
                return False
            continue
        seen.add((id(a), id(b)))
        given, other = (vars(side).get("__arguments__", {}) for side in (a, b))
        if given.keys() != other.keys():
            return False
        todo += [(given[key], other[key]) for key in given]
    return True


def show(node: Reference) -> str:
    """`ref(num_train_steps) // 3`, as it was written; long sides are cut to `…`."""
    if "__arguments__" not in vars(node):
        return "ref"  # half-made, during unpickling

    def parts(value: Any) -> _Parts:
        if not isinstance(value, Reference):
            return reprs.plain(value)
        arguments = fiddle_internals.raw_arguments(value)
        if is_plain(value):
            return f"ref({arguments['path']})"
        return arguments["operator"], arguments["left"], arguments["right"]

    return _spell(node, parts, id)


def spell(graph: Graph, number: int) -> str:
    """The same for a reference in a graph, by its node's number."""

    def parts(value: Any) -> _Parts:
        node = graph.node(value)
        if node is None:
            return leaf_texts.text(value.value)
        given = {argument.key: argument.value for argument in node.arguments}
        if "path" in given:
            assert isinstance(given["path"], Leaf)
            return f"ref({given['path'].value!s})"
        assert isinstance(given["operator"], Leaf)
        return str(given["operator"].value), given["left"], given["right"]

    return _spell(Link(number), parts, lambda value: value)


# A finished text, or an operator and its two sides.
_Parts = str | tuple[str, Any, Any]


def _spell(
    whole: Any, parts: Callable[[Any], _Parts], identity: Callable[[Any], Hashable]
) -> str:
    # Text and binding strength of every part; sides first, without recursion.
    done: dict[Hashable, tuple[str, int]] = {}
    todo: list[tuple[Any, bool]] = [(whole, False)]
    while todo:
        value, are_sides_done = todo.pop()
        found = parts(value)
        if isinstance(found, str):
            done[identity(value)] = found, _ATOM
            continue
        symbol, *sides = found
        if not are_sides_done:
            todo.append((value, True))
            todo += [(side, False) for side in sides if identity(side) not in done]
            continue
        binding = _BINDING[symbol]
        (left, tight), (right, tighter) = (_cut(*done[identity(s)]) for s in sides)
        left = left if tight >= binding else f"({left})"
        right = right if tighter > binding else f"({right})"
        done[identity(value)] = f"{left} {symbol} {right}", binding
    return done[identity(whole)][0]


def _cut(text: str, binding: int) -> tuple[str, int]:
    """A side that is used twice, and so on up, would double the text at each level."""
    return (text, binding) if len(text) <= _MAX_SIDE else ("…", _ATOM)
