"""What is different between two configs, as plain data.

A `Diff` is a tuple of changes. They are said in the order of a reader of the new
config, and they are complete: `apply` makes the new config of the old one by nothing
else. A change stands at a holder, the node or container of the *old* config whose
argument or element it changes (`Old`), and tells where that is in the new config
(`path`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from fdlkit.graph.model import Graph, Link, Node, Symbol
from fdlkit.graph.paths import Path, PathKey

# Between which kinds of values a reference was made or cut.
REFERENCE = {
    (False, True): "reference made",
    (True, False): "reference cut",
    (True, True): "reference changed",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Old:
    """A node or container of the old config.

    Attributes:
      path: The first path to it in the old config.
      copy: 0 for the thing itself; n for what the nth `Copied` made of it.
    """

    path: Path
    copy: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """A value in words.

    Attributes:
      text: One line, whole: whoever shows it cuts it.
      result: What a reference comes to, where that is known.
      is_reference: Whether it is a reference.
      is_default: Whether nothing was set, and this is the default.
      moved_from: Where a node stood in the old config that stands here now.
      moved_to: Where a node stands in the new config that stood here.
      shared_with: Another place of the new config that has the same node.
      holds: Nodes of the old config inside a new value: where they are now, and where
        they were.
    """

    text: str
    result: str = ""
    is_reference: bool = False
    is_default: bool = False
    moved_from: Path | None = None
    moved_to: Path | None = None
    shared_with: Path | None = None
    holds: tuple[tuple[Path, Path], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is different.

    Attributes:
      path: Where: the holder's place in the new config, and the key. Of what is gone
        the key is the old one.
      node: How many keys of `path` lead to the nearest node around the place.
      called: What that node calls, by its full name; empty if there is none.
      holder: Whose argument or element it is; None: the root itself is another.
      key: The argument's name, the index, the key.
    """

    kind: ClassVar[str] = ""

    path: Path
    node: int
    called: str
    holder: Old | None
    key: PathKey | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Set(Change):
    """A value is there that was not: an argument, an entry of a dict, the root.

    Attributes:
      old: What was there; None if there was nothing, not even a default.
      new: What is there.
      value: Which of `Diff.values` it is.
    """

    kind: ClassVar[str] = "set"

    old: Said | None
    new: Said
    value: int

    @property
    def reference(self) -> str:
        """`reference made`, `reference cut`, `reference changed`, or nothing."""
        was = self.old is not None and self.old.is_reference
        return REFERENCE.get((was, self.new.is_reference), "")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unset(Change):
    """An argument is no longer set, or an entry of a dict is gone.

    Attributes:
      old: What was there.
      default: What holds now, None if nothing does.
    """

    kind: ClassVar[str] = "unset"

    old: Said
    default: Said | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inserted(Change):
    """A list, tuple, set or `*args` has an element more. `key` is its new index.

    Attributes:
      new: The element.
      value: Which of `Diff.values` it is.
    """

    kind: ClassVar[str] = "inserted"

    new: Said
    value: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Removed(Change):
    """An element is gone. `key` is its old index.

    Attributes:
      old: The element.
    """

    kind: ClassVar[str] = "removed"

    old: Said


@dataclasses.dataclass(frozen=True, kw_only=True)
class Moved(Change):
    """A value stands in another place: another index, another key, another node.

    Attributes:
      from_holder: Whose it was.
      from_key: Under which key.
      from_path: Where that was in the old config.
      element: Whether it is an element of a list, tuple or `*args` now.
      new: The value.
    """

    kind: ClassVar[str] = "moved"

    from_holder: Old
    from_key: PathKey
    from_path: Path
    element: bool
    new: Said


@dataclasses.dataclass(frozen=True, kw_only=True)
class Copied(Change):
    """A node is here on its own, like one of the old config that is elsewhere now.

    Everything below the node is its own too, but for what `keeps` names.

    Attributes:
      of: The node of the old config.
      copy: The number of this copy, which `Old.copy` says.
      keeps: Nodes of the old config below it that were not copied.
      elsewhere: Where the node itself is in the new config.
      was_shared: Whether both places had it in the old config: it is no longer shared.
    """

    kind: ClassVar[str] = "copied"

    of: Path
    copy: int
    keeps: tuple[Path, ...]
    elsewhere: Path | None
    was_shared: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Called(Change):
    """A node calls something else, or a container is of another type.

    `holder` is the node itself, `path` its place, `key` None.

    Attributes:
      old: What was called, by its full name.
      new: What is called.
      carried: The arguments that both have.
      dropped: The arguments that are gone, with what they were.
      head: Which of `Diff.values` is like the new node, without arguments.
    """

    kind: ClassVar[str] = "called"

    old: str
    new: str
    carried: tuple[PathKey, ...]
    dropped: tuple[tuple[PathKey, str], ...]
    head: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reordered(Change):
    """An `OrderedDict` has its keys in another order.

    `holder` is the dict itself, `path` its place, `key` None.

    Attributes:
      keys: All its keys in the new order.
    """

    kind: ClassVar[str] = "reordered"

    keys: tuple[PathKey, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tagged(Change):
    """An argument carries a tag that it did not.

    Attributes:
      tag: The tag.
    """

    kind: ClassVar[str] = "tagged"

    tag: Symbol


@dataclasses.dataclass(frozen=True, kw_only=True)
class Untagged(Change):
    """An argument has lost a tag.

    Attributes:
      tag: The tag.
    """

    kind: ClassVar[str] = "untagged"

    tag: Symbol


KINDS: tuple[type[Change], ...] = (
    Set,
    Unset,
    Inserted,
    Removed,
    Moved,
    Copied,
    Called,
    Reordered,
    Tagged,
    Untagged,
)


@dataclasses.dataclass(frozen=True)
class Diff:
    """Everything that makes one config another.

    It is true if the two differ, and as long as it has changes.

    Attributes:
      changes: The changes, in the order of a reader of the new config.
      values: What the changes put in: a graph whose root is a list. The first
        `len(kept)` elements stand for what is kept of the old config; the changes
        count all elements from 0.
      kept: What those elements stand for.
    """

    changes: tuple[Change, ...] = ()
    values: Graph = Graph((Node("list", ()),), Link(0))
    kept: tuple[Old, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)
