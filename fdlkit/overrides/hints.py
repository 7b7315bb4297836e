"""Questions to ask of a parameter's annotation."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from typing import Any

# What a value is made with; None: whatever the user's brackets mean in Python.
_CONTAINERS: dict[Any, type] = {
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
    collections.abc.Sequence: object,
    collections.abc.Collection: object,
    collections.abc.Iterable: object,
}
_NUMBERS = (int, float, complex, bool)


def plain(annotation: Any) -> Any:
    """Without `Annotated`, `Final`, `NewType`, `TypeVar`; `None` as `NoneType`."""
    wrappers = (typing.Annotated, typing.Final, typing.ClassVar)
    for _ in range(16):  # wrappers nest a few deep; a type cannot contain itself
        if typing.get_origin(annotation) in wrappers:
            annotation = typing.get_args(annotation)[0]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, typing.TypeVar):
            annotation = annotation.__bound__ or Any
        else:
            break
    return types.NoneType if annotation is None else annotation


def says_nothing(annotation: Any) -> bool:
    """Whether any value would do; so it is where a name could not be resolved."""
    nothing = (inspect.Parameter.empty, Any, object)
    return isinstance(annotation, str | typing.ForwardRef) or any(
        annotation is n for n in nothing
    )


def union_members(annotation: Any) -> tuple[Any, ...] | None:
    """The members of `X | Y` and `Union[X, Y]`; None for all else."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(plain(member) for member in typing.get_args(annotation))
    return None


def container_of(annotation: Any) -> type | None:
    """list, tuple, set, frozenset or dict; `object` for any sequence; else None."""
    origin = typing.get_origin(annotation) or annotation
    return _CONTAINERS.get(origin) if inspect.isclass(origin) else None


def element_types(annotation: Any, count: int) -> tuple[Any, ...]:
    """The annotation of each of `count` elements; key and value for a dict.

    The result has another length where the annotation fixes how many there are.
    """
    arguments = typing.get_args(annotation)
    if container_of(annotation) is dict:
        return arguments if len(arguments) == 2 else (Any, Any)
    if not arguments:
        return () if annotation == tuple[()] else (Any,) * count
    if container_of(annotation) is not tuple:
        return arguments[:1] * count
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return arguments[:1] * count
    return arguments


def element_type(annotation: Any, key: object) -> Any:
    """The annotation of the element that stands at `key`; Any if it is not said."""
    annotation = plain(annotation)
    if (members := union_members(annotation)) is not None:
        found = [m for m in members if container_of(m) is not None]
        return element_type(found[0], key) if len(found) == 1 else Any
    kind = container_of(annotation)
    if kind is None:
        return Any
    if kind is dict:
        return element_types(annotation, 1)[1]
    arguments = typing.get_args(annotation)
    if kind is not tuple or arguments[1:] == (Ellipsis,):
        return arguments[0] if arguments else Any
    index = key if isinstance(key, int) else 0
    fixed = element_types(annotation, index + 1 if index >= 0 else -index)
    return fixed[index] if -len(fixed) <= index < len(fixed) else Any


def is_dtype(annotation: Any, name: str) -> bool:
    """Whether an array's dtype is wanted: by the annotation, else by the name.

    Flax writes `dtype: Any` (or a union with it), so there the name has to tell.
    """
    members = union_members(annotation) or (annotation,)
    if any(_is_numpy_dtype(member) for member in members):
        return True
    named = name == "dtype" or name.endswith("_dtype")
    return named and any(says_nothing(member) for member in members)


def _is_numpy_dtype(annotation: Any) -> bool:
    # Compared by name: NumPy need not be loaded to ask.
    origin = typing.get_origin(annotation) or annotation
    return (
        inspect.isclass(origin)
        and origin.__name__ == "dtype"
        and origin.__module__.partition(".")[0] == "numpy"
    )


def takes_str(annotation: Any) -> bool:
    """Whether a quoted string is itself a value, not the name of one."""
    members = union_members(annotation) or (annotation,)
    return any(member is str or says_nothing(member) for member in members)


def takes_only_numbers(annotation: Any) -> bool:
    """Whether a quoted string can only be a mistake."""
    members = union_members(annotation) or (annotation,)
    return all(member in (*_NUMBERS, types.NoneType) for member in members)


def fits(value: Any, annotation: Any) -> bool:
    """Whether a computed value is among those that the annotation counts out.

    Asked of what has the right type: a `Literal`'s choices, the length of a tuple.
    """
    annotation = plain(annotation)
    members = union_members(annotation) or (annotation,)
    if isinstance(value, tuple):
        tuples = [m for m in members if container_of(m) is tuple]
        lengths = [len(element_types(m, len(value))) for m in tuples]
        return not tuples or len(value) in lengths
    counted = [m for m in members if typing.get_origin(m) is typing.Literal]
    if len(counted) < len([m for m in members if m is not types.NoneType]):
        return True
    return any(
        type(one) is type(value) and one == value
        for member in counted
        for one in typing.get_args(member)
    )


def wants_itself(annotation: Any, named: Any) -> bool:
    """Whether the function or class `named` itself is wanted, not what it makes.

    Of a protocol with `__call__` a function is an example, and so is what a class
    makes, but not the class.
    """
    if wants_callable(annotation):
        return True
    return _is_call_protocol(annotation) and not inspect.isclass(named)


def wants_callable(annotation: Any) -> bool:
    """Whether it is `Callable` or `type`."""
    origin = typing.get_origin(annotation) or annotation
    return origin in (collections.abc.Callable, type, types.FunctionType)


def _is_call_protocol(annotation: Any) -> bool:
    origin = typing.get_origin(annotation) or annotation
    if not inspect.isclass(origin) or not getattr(origin, "_is_protocol", False):
        return False
    return "__call__" in vars(origin)


def describe(annotation: Any) -> str:
    """An annotation in a person's words: `an int`, `a float or None`."""
    annotation = plain(annotation)
    if (members := union_members(annotation)) is not None:
        return " or ".join(dict.fromkeys(describe(member) for member in members))
    if annotation is types.NoneType:
        return "None"
    if typing.get_origin(annotation) is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(annotation)))}"
    if says_nothing(annotation):
        return "a Python literal"
    if wants_callable(annotation):
        return "the name of a function or class"
    if inspect.isclass(annotation) and not typing.get_args(annotation):
        name = annotation.__name__
    else:
        name = str(annotation).replace("typing.", "").replace("collections.abc.", "")
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
