"""What a source text reads: by the names in it, never by running it.

A name counts as read wherever it is: as an attribute of anything, as a variable, as a
word in quotes (`getattr(self, "width")`). So nothing is called dead that is read in
any way that leaves its name in a text.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
import re
from collections.abc import Collection

# Calls after which any name may be read without being written down.
_ALL_SEEING = frozenset({"vars", "dir", "locals", "globals", "asdict", "fields"})
_NAME = re.compile(r"[^\W\d]\w*")
_MAX_FILES = 3000
_MAX_BYTES = 30_000_000
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist"})


@dataclasses.dataclass(frozen=True)
class Reads:
    """What one text reads.

    Attributes:
      attributes: Names behind a dot, and words in quotes.
      variables: Names by themselves.
      sees_all: Whether something in it reads names that are not written down.
    """

    attributes: frozenset[str]
    variables: frozenset[str]
    sees_all: bool

    def has(self, name: str) -> bool:
        """Whether the name is read in any way."""
        return name in self.attributes or name in self.variables


NOTHING = Reads(frozenset(), frozenset(), False)


@functools.lru_cache(maxsize=512)
def _parsed(path: str, stamp: tuple[int, int]) -> ast.Module | None:
    del stamp  # what makes a file that was changed another one
    try:
        with open(path, encoding="utf-8") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None


def parse(path: str) -> ast.Module | None:
    """A file's text, parsed; None if that is not possible."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return _parsed(path, (state.st_mtime_ns, state.st_size))


def of_file(path: str) -> Reads | None:
    """What a file reads; None if it cannot be parsed."""
    tree = parse(path)
    return None if tree is None else of_tree(tree)


def reads_attribute(path: str, name: str) -> bool:
    """Whether a file reads an attribute of a name; parsed only if it has the word."""
    try:
        with open(path, encoding="utf-8") as file:
            if re.search(rf"\b{re.escape(name)}\b", file.read()) is None:
                return False
    except (OSError, ValueError):
        return False
    reads = of_file(path)
    return reads is not None and name in reads.attributes


def of_tree(tree: ast.AST) -> Reads:
    """What a piece of code reads."""
    attributes: set[str] = set()
    variables: set[str] = set()
    sees_all = False
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                attributes.add(name)
                sees_all = sees_all or name in ("__dict__", *_ALL_SEEING)
            case ast.Name(id=name, ctx=ast.Load()):
                variables.add(name)
            case ast.Name(id=name, ctx=ast.Del()):
                variables.add(name)  # `del unused`: it is meant not to be read
            case ast.Constant(value=str(word)) if _NAME.fullmatch(word):
                attributes.add(word)
            case ast.MatchClass(kwd_attrs=names):
                attributes.update(names)
            case ast.AugAssign(
                target=ast.Attribute(value=ast.Name(id="self"), attr=name)
            ):
                attributes.add(name)
            case ast.ImportFrom(names=aliases):
                variables.update(alias.name for alias in aliases)
            case ast.Call(func=ast.Name(id=called), args=arguments):
                sees_all = sees_all or called in _ALL_SEEING
                if called == "getattr" and len(arguments) > 1:
                    sees_all = sees_all or not isinstance(arguments[1], ast.Constant)
    return Reads(frozenset(attributes), frozenset(variables), sees_all)


def is_read(name: str, near: str, but: Collection[str] = ()) -> bool:
    """Whether any other Python file of the project reads a name.

    Args:
      name: The name.
      near: A file of the project.
      but: Files that are not searched.

    Returns:
      True also where the project is too large to be searched.
    """
    word = re.compile(rf"\b{re.escape(name)}\b".encode())
    files = total = 0
    for folder, folders, names in os.walk(_project(near)):
        folders[:] = [f for f in folders if not f.startswith(".") and f not in _SKIPPED]
        for file in names:
            path = os.path.join(folder, file)
            if not file.endswith((".py", ".ipynb")) or path in but:
                continue
            try:
                with open(path, "rb") as opened:
                    text = opened.read()
            except OSError:
                continue
            files, total = files + 1, total + len(text)
            if files > _MAX_FILES or total > _MAX_BYTES:
                return True
            if word.search(text):
                reads = of_file(path)
                if reads is None or reads.has(name):
                    return True
    return False


def _project(file: str) -> str:
    """The outermost folder that is one project's with a file."""
    folder = os.path.dirname(os.path.abspath(file))
    at = folder
    while True:
        marks = (".git", "pyproject.toml", "setup.py")
        if any(os.path.exists(os.path.join(at, mark)) for mark in marks):
            return at
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above
