"""Names of axes and what they are bound to within one call."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Sizes = tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def annotations_of(function: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """The array annotations of a function, by argument; the choices of a union."""
    function = inspect.unwrap(function)
    raw = getattr(function, "__annotations__", {})
    if not any("[" in str(hint) for hint in raw.values()):
        return {}
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}
    found = {}
    for name, hint in hints.items():
        arrays = tuple(h for h in (*typing.get_args(hint), hint) if names_axes(h))
        if arrays:
            found[name] = arrays
    return found


def names_axes(hint: Any) -> bool:
    """Whether this is an annotation of jaxtyping's with dims."""
    return (
        isinstance(hint, type)
        and isinstance(getattr(hint, "dim_str", None), str)
        and hasattr(hint, "dtypes")
    )


def annotation_text(hint: Any) -> str:
    """An annotation as a person writes it: `Float[Array, 'b t d']`."""
    dtype = getattr(hint.dtype, "__name__", "Shaped")
    array = getattr(hint.array_type, "__name__", str(hint.array_type))
    array = array.rpartition(".")[2]  # some releases of JAX name the module too
    return f"{dtype}[{array}, {hint.dim_str!r}]"


@dataclasses.dataclass(frozen=True)
class Clash:
    """What an array has against its annotation.

    Attributes:
      text: "axis `c`: 8 from features[-1], 5 from weights[0]".
      axes: The names that it is about.
    """

    text: str
    axes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Binding:
    """What a name stands for: a size, or the sizes of a `*name`, and by whom."""

    size: int | Sizes
    source: str


class Axes:
    """The names of one call, bound by one array after another."""

    def __init__(self, scope: Mapping[str, Any]):
        """`scope` has the arguments, for annotations such as `{self.features}`."""
        self._scope = scope
        self._bound: dict[str, Binding] = {}
        self._held: list[str] = []

    @property
    def held(self) -> tuple[str, ...]:
        """The arrays so far: `x: Float[Array, 'b d'] is float32[4, 8]`."""
        return tuple(self._held)

    def others(self, clash: Clash) -> tuple[str, ...]:
        """What the names are bound to that are not of the clash, `n=3 from x[1]`."""
        return tuple(
            f"{name}={binding.size} from {binding.source}"
            for name, binding in self._bound.items()
            if name not in clash.axes
        )

    def hold(self, name: str, value: Any, options: Sequence[Any]) -> Clash | None:
        """Binds the names of one array; what is against it.

        Args:
          name: Of the argument, or `return`.
          value: The array; anything without a shape is let pass.
          options: Annotations, one of which is enough.
        """
        if not (hasattr(value, "shape") and hasattr(value, "dtype")):
            return None
        trials = [
            _Trial(name, value, hint, self._scope, dict(self._bound))
            for hint in options
        ]
        fitting = [trial for trial in trials if trial.clash is None]
        best = (fitting or trials)[0]
        array = f"{value.dtype}{list(value.shape)}"
        self._held.append(f"{name}: {annotation_text(best.hint)} is {array}")
        self._bound = best.bound
        return best.clash


class _Trial:
    """One array against one annotation.

    Attributes:
      hint: The annotation.
      bound: The names after it.
      clash: The first thing that is against it.
    """

    def __init__(
        self,
        name: str,
        value: Any,
        hint: Any,
        scope: Mapping[str, Any],
        bound: dict[str, Binding],
    ):
        self.hint = hint
        self.bound = bound
        self._name = name
        self._scope = scope
        self._shape = tuple(value.shape)
        self.clash = self._type_clash(str(value.dtype)) or self._shape_clash()

    def _type_clash(self, dtype: str) -> Clash | None:
        kinds = self.hint.dtypes
        if not isinstance(kinds, list | tuple) or not kinds:
            return None  # any
        for kind in kinds:
            if kind == dtype if isinstance(kind, str) else kind.match(dtype):
                return None
        return Clash(f"{self._name} is {dtype}, and {self.hint.dtype.__name__} wanted")

    def _shape_clash(self) -> Clash | None:
        words, shape, name = self.hint.dim_str.split(), self._shape, self._name
        spread = [
            at
            for at, word in enumerate(words)
            if word == "..." or ("*" in word[:2] and word.lstrip("#*").isidentifier())
        ]
        dims = f"{name} has {len(shape)} dim{'s' * (len(shape) != 1)}"
        if not spread:
            if len(words) != len(shape):
                return Clash(f"{dims}, and '{self.hint.dim_str}' names {len(words)}")
            places = [
                (word, size, at)
                for at, (word, size) in enumerate(zip(words, shape, strict=True))
            ]
            return self._first_clash(places)
        before, after = spread[0], len(words) - spread[0] - 1
        if len(shape) < before + after:
            return Clash(
                f"{dims}, and '{self.hint.dim_str}' names {before + after} at least"
            )
        places = [(words[at], shape[at], at) for at in range(before)]
        places += [(words[-at], shape[-at], -at) for at in range(after, 0, -1)]
        several = shape[before : len(shape) - after]
        source = f"{name}[{before or ''}:{-after or ''}]"
        return self._several(words[before], several, source) or self._first_clash(
            places
        )

    def _first_clash(self, places: Sequence[tuple[str, int, int]]) -> Clash | None:
        clashes = [
            self._one(word, size, f"{self._name}[{at}]") for word, size, at in places
        ]
        return next((clash for clash in clashes if clash is not None), None)

    def _several(self, word: str, sizes: Sizes, source: str) -> Clash | None:
        """`*name`, or `*#name`, which may be broadcast."""
        name = word.lstrip("#*")
        if word == "..." or name.startswith("_"):
            return None
        known = self.bound.setdefault(f"*{name}", Binding(sizes, source))
        assert isinstance(known.size, tuple)
        if known.size == sizes or ("#" in word and _broadcast(known.size, sizes)):
            return None
        return Clash(
            f"axes `*{name}`: {known.size} from {known.source}, {sizes} from {source}",
            (f"*{name}",),
        )

    def _one(self, word: str, size: int, source: str) -> Clash | None:
        broadcasts = word.startswith("#")
        word = word.lstrip("#?")
        if "=" in word:
            word = word.rpartition("=")[2]  # what is before it is for the reader
        if word.startswith("_") or (broadcasts and size == 1):
            return None
        if word.isidentifier():
            known = self.bound.setdefault(word, Binding(size, source))
            if known.size == size:
                return None
            return Clash(
                f"axis `{word}`: {known.size} from {known.source}, "
                f"{size} from {source}",
                (word,),
            )
        wanted = self._computed(word)
        if wanted is None or wanted == size:
            return None
        is_number = word.isdecimal()
        return Clash(
            f"axis {source} is {size}, not {wanted}"
            + ("" if is_number else f", which is `{word}`")
        )

    def _computed(self, word: str) -> int | None:
        """A number, `n+1` or `{self.features}`; None if a name in it is not known."""
        try:
            tree = ast.parse(word.format(**self._scope), mode="eval")
            return _evaluate(tree.body, self.bound)
        except (AttributeError, LookupError, SyntaxError, TypeError, ValueError):
            return None


def _broadcast(a: Sizes, b: Sizes) -> bool:
    """Whether NumPy would broadcast one against the other."""
    return all(
        x == y or 1 in (x, y) for x, y in zip(reversed(a), reversed(b), strict=False)
    )


def _evaluate(node: ast.expr, bound: Mapping[str, Binding]) -> int:
    """Sums, differences, products and quotients of ints and names.

    Raises:
      LookupError: A name is not bound.
      ValueError: It is something else.
    """
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            size = bound[name].size
            assert isinstance(size, int)
            return size
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, bound)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, bound), _evaluate(right, bound)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv() if b:
                    return a // b
    raise ValueError(ast.dump(node))
