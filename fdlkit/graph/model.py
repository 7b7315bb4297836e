"""The neutral form of a config: flat, frozen, and of no program's types.

A `Graph` is a tuple of nodes, each after everything below it, so that one loop over
them is a walk from the leaves up. Values are leaves or links to nodes by number; what
is shared is one node with several links to it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any, Literal

from fdlkit.graph.paths import PathKey

Kind = Literal[
    "config",
    "partial",
    "arg_factory",
    "tagged_value",
    "reference",
    "buildable",
    "list",
    "tuple",
    "namedtuple",
    "dict",
    "ordered_dict",
    "default_dict",
    "set",
    "frozenset",
    "custom",
]

BUILDABLE_KINDS = frozenset(
    {"config", "partial", "arg_factory", "tagged_value", "reference", "buildable"}
)


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


# The live object of a symbol that was read from text and has not been looked up.
UNKNOWN: Any = _Unknown()


@dataclasses.dataclass(frozen=True, slots=True)
class Symbol:
    """A function or class, by the shortest public name that imports it.

    Attributes:
      module: `optax`, `flax.linen`.
      qualname: `adamw`, `Outer.Inner`.
      importable: Whether that name really leads to the object; not so for lambdas and
        what a function defines.
      live: The object itself, `UNKNOWN` if the symbol was read from text.
    """

    module: str
    qualname: str
    importable: bool = True
    live: Any = dataclasses.field(default=UNKNOWN, compare=False, repr=False)

    def __repr__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The dotted name: `optax.adamw`."""
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    @property
    def short(self) -> str:
        """The last part of the name: `adamw`."""
        return self.qualname.rpartition(".")[2]


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum.

    Attributes:
      enum: The enum class.
      name: The member's name; `A|B` for a combination of flags, `A|8` and `0` where
        bits have no name (see `fdlkit.graph.members`).
      live: The member itself, `UNKNOWN` if it was read from text.
    """

    enum: Symbol
    name: str
    live: Any = dataclasses.field(default=UNKNOWN, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"{self.enum.short}.{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class DType:
    """A NumPy dtype object (not a scalar type, which is a class: a `Symbol`).

    Attributes:
      name: `float32`, `bfloat16`; `>f4`, `<U5` for what is not plain and native.
      live: The dtype itself, `UNKNOWN` if it was read from text.
    """

    name: str
    live: Any = dataclasses.field(default=UNKNOWN, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"dtype({self.name})"


@dataclasses.dataclass(frozen=True, slots=True)
class Array:
    """A small array, or a NumPy scalar, to the bit.

    Attributes:
      kind: `numpy` for an `ndarray`, `scalar` for a `numpy.generic`, `jax`.
      dtype: As in `DType`.
      shape: The size of each axis; `()` for scalars.
      data: The elements, the last axis first; native dtypes are little-endian.
      weak: Whether a JAX array is weakly typed, as Python's own numbers are.
      live: The array itself, `UNKNOWN` if it was read from text.
    """

    kind: Literal["numpy", "scalar", "jax"]
    dtype: str
    shape: tuple[int, ...]
    data: bytes
    weak: bool = False
    live: Any = dataclasses.field(default=UNKNOWN, compare=False, repr=False)

    def __repr__(self) -> str:
        shape = list(self.shape) if self.shape else ""
        return f"{self.kind}.{self.dtype}{shape}(0x{self.data.hex()})"


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Made:
    """A value that is no more than what it was made of: `Path('a')`, `Axes(data=2)`.

    `fdlkit.graph.values` lists what is such: paths, ranges, slices, decimals, dates,
    partition specs, `functools.partial`, instances of dataclasses that hold only such.
    Containers in their arguments are `Made` of `builtins:tuple`, `list`, `set` and
    `frozenset` by position, `dict` of tuples of two.

    Attributes:
      type: The class, or what is called in its place.
      arguments: What makes an equal one: positions, then names in order.
      live: The value itself, `UNKNOWN` if it was read from text.
    """

    type: Symbol
    arguments: tuple[tuple[str | int, LeafValue], ...] = ()
    live: Any = UNKNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and exact(self) == exact(other)

    def __hash__(self) -> int:
        return hash(exact(self))

    def __repr__(self) -> str:
        named = ((f"{k}=" if isinstance(k, str) else "", v) for k, v in self.arguments)
        return f"{self.type.name}({', '.join(f'{k}{v!r}' for k, v in named)})"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A value that this form cannot express: a lambda, a built object, a large array.

    Attributes:
      type: The public name of its type.
      text: How it shows itself, on one line.
      live: The value.
    """

    type: str
    text: str
    live: Any = dataclasses.field(repr=False)


LeafValue = (
    None
    | bool
    | int
    | float
    | complex
    | str
    | bytes
    | Symbol
    | Member
    | DType
    | Array
    | Made
    | Opaque
)

# Those that keep what they stand for beside what is said of it.
_WITH_LIVE = Symbol | Member | DType | Array | Made | Opaque


def exact(held: LeafValue) -> Hashable:
    """What two held values have in common exactly when they are the same.

    `1`, `1.0` and `True` are three, `-0.0` is not `0.0`, nan is nan. Opaque values are
    compared by `is`.
    """
    if isinstance(held, Opaque):
        return "opaque", id(held.live)
    if isinstance(held, float | complex):
        return type(held).__name__, repr(held)
    if isinstance(held, Made):  # of few levels: `values` makes no deep ones
        return "made", held.type, tuple((k, exact(v)) for k, v in held.arguments)
    return type(held).__name__, held


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A value with nothing below it.

    Leaves are equal when their types and values are: `1`, `1.0` and `True` are three
    leaves, `nan` is one.
    """

    value: LeafValue

    @property
    def live(self) -> Any:
        """The value as a program uses it; `UNKNOWN` if it was read, and no number."""
        held = self.value
        return held.live if isinstance(held, _WITH_LIVE) else held

    def key(self) -> Hashable:
        """What two leaves have in common exactly when they are equal.

        Opaque values compare by `is` here; `equality` looks further.
        """
        return exact(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Leaf) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A node as a value, by its number in `Graph.nodes`."""

    node: int


Value = Leaf | Link


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """The override that had a value written.

    Attributes:
      flag: The flag that it came by: `--fdl_set`.
      number: Its place among all overrides of the command line, counted from 1.
      text: What was asked: `model.hidden=256`, `small(hidden=2)`.
    """

    flag: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.flag} #{self.number}: {self.text}"


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was written.

    Attributes:
      file: A source file, or what wrote it otherwise: `--fdl_set`.
      line: The line in the file, counted from 1; 0 when no line wrote it.
      cause: The override that wrote it, or whose fiddler's line did; None if none.
    """

    file: str
    line: int
    cause: Cause | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


# Gives an instance another class, also where its own is frozen.
_become: Any = object.__dict__["__class__"].__set__


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class Argument:
    """One argument of a node, or one element of a container.

    Attributes:
      key: The argument's name, its position, the list index or the dict's key (with a
        `Member` in place of an enum member).
      value: None if the argument is not set.
      default: What it is when it is not set; None if there is none, or it is unknown.
      factory: What makes the default, where a dataclass says `default_factory`.
      required: Whether the callable cannot be called without it.
      tags: The tags on it, by name.
      annotation: The parameter's type as a reader writes it, `""` if there is none.
      origin: Who wrote the value, if it is known.
    """

    key: PathKey
    value: Value | None
    default: Value | None = None
    factory: Symbol | None = None
    required: bool = False
    tags: tuple[Symbol, ...] = ()
    annotation: str = ""
    origin: Origin | None = dataclasses.field(default=None, compare=False)

    # There are more of these than of anything else, and what `dataclasses` would write
    # to get past `frozen` takes three times as long as this. While it is being filled,
    # an argument is of a class with the same slots that is not frozen.
    def __init__(
        self,
        key: PathKey,
        value: Value | None,
        default: Value | None = None,
        factory: Symbol | None = None,
        required: bool = False,
        tags: tuple[Symbol, ...] = (),
        annotation: str = "",
        origin: Origin | None = None,
    ):
        opened: Any = self
        _become(opened, _OpenArgument)
        opened.key = key
        opened.value = value
        opened.default = default
        opened.factory = factory
        opened.required = required
        opened.tags = tags
        opened.annotation = annotation
        opened.origin = origin
        opened.__class__ = Argument


class _OpenArgument:
    __slots__ = Argument.__slots__


@dataclasses.dataclass(frozen=True, slots=True, init=False)
class Node:
    """A Buildable or a container.

    Attributes:
      kind: What it is.
      arguments: Arguments in signature order, unset ones too; elements in order.
      callable: What a Buildable calls, the class of a NamedTuple, the factory of a
        `defaultdict`; None for other containers.
      type: The class of the node itself where the kind does not say it (`buildable`,
        `custom`).
      is_value: Whether it is immutable all through: two equal ones are as good as one,
        so that sharing it means nothing. In a graph equal ones are one node.
      metadata: What a `custom` container needs, besides its elements, to be made anew.
      origin: Where a Buildable was made, if it is known.
      swapped: Who made a Buildable call something else last; None if nobody did.
    """

    kind: Kind
    arguments: tuple[Argument, ...]
    callable: Symbol | None = None
    type: Symbol | None = None
    is_value: bool = False
    metadata: Leaf | None = None
    origin: Origin | None = dataclasses.field(default=None, compare=False)
    swapped: Origin | None = dataclasses.field(default=None, compare=False)

    def __init__(  # as of an argument
        self,
        kind: Kind,
        arguments: tuple[Argument, ...],
        callable: Symbol | None = None,  # noqa: A002 - the field's name
        type: Symbol | None = None,  # noqa: A002
        is_value: bool = False,
        metadata: Leaf | None = None,
        origin: Origin | None = None,
        swapped: Origin | None = None,
    ):
        opened: Any = self
        _become(opened, _OpenNode)
        opened.kind = kind
        opened.arguments = arguments
        opened.callable = callable
        opened.type = type
        opened.is_value = is_value
        opened.metadata = metadata
        opened.origin = origin
        opened.swapped = swapped
        opened.__class__ = Node

    @property
    def is_buildable(self) -> bool:
        """Whether `build` calls something for it; False for containers."""
        return self.kind in BUILDABLE_KINDS

    def argument(self, key: PathKey) -> Argument | None:
        """The argument with that key."""
        if type(key) is int and 0 <= key < len(self.arguments):
            candidate = self.arguments[key]  # where it is in a list
            if type(candidate.key) is int and candidate.key == key:
                return candidate
        for argument in self.arguments:
            if argument.key == key and type(argument.key) is type(key):
                return argument
        return None


class _OpenNode:
    __slots__ = Node.__slots__


@dataclasses.dataclass(frozen=True, slots=True)
class Graph:
    """A whole config.

    Attributes:
      nodes: Every node, after all that is below it. Nodes that only defaults lead to
        are among them.
      root: The whole config.
      defaults_known: Whether unset arguments are listed; not so in a graph that was
        read from JSON.
    """

    nodes: tuple[Node, ...]
    root: Value
    defaults_known: bool = True

    def node(self, value: Value | None) -> Node | None:
        """The node that a value links to; None for leaves."""
        return self.nodes[value.node] if isinstance(value, Link) else None
