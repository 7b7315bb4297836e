"""Named-axis annotations (`Float[Array, "batch time embed"]`) held against a call.

jaxtyping checks them only under a type checker that somebody has to install and switch
on. Here they are read as data, and each name is told with what bound it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """One array that is not what its annotation says.

    Attributes:
      module: The Flax path of the module whose method was called.
      where: The method and the argument: `Attention.__call__(x)`.
      annotation: As it is written: `Float[Array, 'b t d']`.
      text: What disagrees, with what each name was bound to and by whom.
    """

    module: tuple[str, ...]
    where: str
    annotation: str
    text: str


@dataclasses.dataclass(frozen=True)
class _Binding:
    size: int
    by: str


def disagreements(
    method: Callable[..., Any],
    module: Any,
    path: tuple[str, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    result: Any,
) -> Iterator[Disagreement]:
    """What arguments and result of one call have that its annotations do not say.

    Within one call a name is one size, as in jaxtyping.

    Args:
      method: The method, not bound.
      module: Whose method it is.
      path: Its Flax path.
      args: The arguments by position, without the module.
      kwargs: The arguments by name.
      result: What it returned.
    """
    hints = _hints(method)
    if not hints:
        return
    try:
        bound = inspect.signature(method).bind(module, *args, **kwargs)
    except TypeError:
        return
    values = [
        (f"{name}", bound.arguments.get(name)) for name in hints if name != "return"
    ]
    if "return" in hints:
        values.append(("return", result))
    bindings: dict[str, _Binding] = {}
    title = f"{type(module).__name__}.{getattr(method, '__name__', 'call')}"
    for name, value in values:
        options = hints[name]
        if value is None or not hasattr(value, "shape"):
            continue
        trials = [_unlike(one, value, dict(bindings), name) for one in options]
        fitting = [found for text, found in trials if text is None]
        if fitting:
            bindings = fitting[0]
            continue
        text, found = trials[0]
        bindings = found
        where = f"{title} -> return" if name == "return" else f"{title}({name})"
        yield Disagreement(path, where, written(options[0]), text or "")


@functools.lru_cache(maxsize=4096)
def _hints(method: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """The array annotations of a function, by argument; the choices of a union."""
    method = inspect.unwrap(method)
    raw = getattr(method, "__annotations__", {})
    if not any("[" in str(hint) for hint in raw.values()):
        return {}
    try:
        hints = typing.get_type_hints(method)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}
    found = {}
    for name, hint in hints.items():
        choices = [*typing.get_args(hint), hint]
        arrays = tuple(c for c in choices if is_array_annotation(c))
        if arrays:
            found[name] = arrays
    return found


def is_array_annotation(hint: Any) -> bool:
    """Whether this is an annotation of jaxtyping's with dims."""
    return (
        isinstance(hint, type)
        and isinstance(getattr(hint, "dim_str", None), str)
        and hasattr(hint, "dtypes")
    )


def written(hint: Any) -> str:
    """An annotation as a person writes it: `Float[Array, 'b t d']`."""
    dtype = getattr(hint.dtype, "__name__", "Shaped")
    array = getattr(hint.array_type, "__name__", str(hint.array_type))
    array = array.rpartition(".")[2]  # some releases of JAX name the module too
    return f"{dtype}[{array}, {hint.dim_str!r}]"


def _unlike(
    hint: Any, value: Any, bindings: dict[str, _Binding], name: str
) -> tuple[str | None, dict[str, _Binding]]:
    """What one array has against one annotation, and the names bound after it."""
    shape = tuple(value.shape)
    here = f"{name} {list(shape)}"
    dtypes = hint.dtypes
    if isinstance(dtypes, list | tuple) and dtypes:
        dtype = str(value.dtype)
        names = [d if isinstance(d, str) else getattr(d, "pattern", "") for d in dtypes]
        if "" not in names and dtype not in names:
            return f"{here} is {dtype}, not {hint.dtype.__name__}", bindings
    words = hint.dim_str.split()
    spread = [
        i for i, w in enumerate(words) if w == "..." or w.lstrip("#").startswith("*")
    ]
    if spread:
        at = spread[0]
        after = len(words) - at - 1
        if len(shape) < at + after:
            return (
                f"{here} has {len(shape)} dims, at least {at + after} are wanted",
                bindings,
            )
        pairs = [
            *zip(words[:at], shape[:at], strict=True),
            *zip(words[at + 1 :], shape[len(shape) - after :], strict=True),
        ]
    elif len(words) != len(shape):
        return (
            f"{here} has {len(shape)} dims, and '{hint.dim_str}' are {len(words)}",
            bindings,
        )
    else:
        pairs = list(zip(words, shape, strict=True))
    wrong = []
    for word, size in pairs:
        text = _bind(word, size, here, bindings)
        if text:
            wrong.append(text)
    return ("; ".join(wrong) or None), bindings


def _bind(word: str, size: int, here: str, bindings: dict[str, _Binding]) -> str | None:
    broadcasts = word.startswith("#")
    word = word.lstrip("#?")
    if "=" in word:
        word = word.rpartition("=")[2]
    if word.startswith("_") or (broadcasts and size == 1):
        return None
    if word.isdecimal():
        if int(word) == size:
            return None
        return f"a dim of {here} is {size}, not {word}"
    if not word.isidentifier():
        return None  # an expression: jaxtyping evaluates it, we do not
    known = bindings.setdefault(word, _Binding(size, here))
    if known.size == size:
        return None
    return f"{word}={size} in {here}, but {word}={known.size} by {known.by}"
