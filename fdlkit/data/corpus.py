"""Text to train on: where it is, in what order, and which of it is held out."""

from __future__ import annotations

import dataclasses
import glob as glob_patterns
import hashlib
import itertools
import os
import pathlib
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol, get_args

from fdlkit import suggest
from fdlkit.errors import UserError

Split = Literal["train", "eval"]

# Folders of the standard library, at any depth, that hold tests, other people's
# packages, or what a program wrote: tables of characters (`encodings`) and one page
# of prose (`pydoc_data`) that alone would be half of what is held out.
_NOT_LIBRARY_TEXT = frozenset(
    {
        *("test", "tests", "idle_test"),
        *("site-packages", "dist-packages", "__pycache__"),
        *("encodings", "pydoc_data"),
    }
)
_CANDIDATES_READ = 2_000  # files looked at for a suggestion, so that `/**` ends


@dataclasses.dataclass(frozen=True, kw_only=True)
class Document:
    """One text of a corpus.

    Attributes:
      name: Its name relative to the corpus, with `/` on every system.
      text: Its bytes, as they are on disk.
    """

    name: str
    text: bytes


class Corpus(Protocol):
    """A finite sequence of documents, in the same order every time."""

    def documents(self) -> Iterator[Document]:
        """The documents, one in memory at a time."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class StdlibCorpus:
    """The `.py` files of the running Python's own standard library, without tests.

    Real text of about 10 MB that is on every machine; generated files are left out
    too. It differs a little between versions of Python. The split is by file (see
    `files_of_split`).

    Attributes:
      split: The files to train on, or those held out.
      eval_fraction: The share of the files that is held out.
    """

    split: Split = "train"
    eval_fraction: float = 0.1

    def documents(self) -> Iterator[Document]:
        """The documents in the order of their names.

        Raises:
          UserError: This Python has no sources on disk.
        """
        root = pathlib.Path(sysconfig.get_path("stdlib"))
        files = {
            path.relative_to(root).as_posix(): path for path in _library_files(root)
        }
        if not files:
            raise UserError(
                f"this Python has no standard library sources in {root}",
                "  use a Python that has them, or TextFiles('texts/**/*.txt')",
            )
        return _read(files, self.split, self.eval_fraction)


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """The local text files that a pattern matches. The split is by file.

    Usage:

        TextFiles("books/**/*.txt", split="eval")

    Attributes:
      glob: Such as `books/**/*.txt`; `**` is any number of folders, `~` the home
        folder. A relative pattern starts in the working directory.
      split: The files to train on, or those held out.
      eval_fraction: The share of the files that is held out.
    """

    glob: str
    _: dataclasses.KW_ONLY
    split: Split = "train"
    eval_fraction: float = 0.1

    def documents(self) -> Iterator[Document]:
        """The documents in the order of their names below the pattern's folder.

        Raises:
          UserError: Nothing matches, or no file falls in this split.
        """
        pattern = pathlib.Path(self.glob).expanduser()
        root = _folder_of(pattern)
        files = {
            pathlib.Path(match).relative_to(root).as_posix(): pathlib.Path(match)
            for match in glob_patterns.glob(str(pattern), recursive=True)
            if pathlib.Path(match).is_file()
        }
        if not files:
            raise _no_match(self.glob, root)
        return _read(files, self.split, self.eval_fraction)


def files_of_split(
    names: Sequence[str], *, split: Split, eval_fraction: float
) -> list[str]:
    """The names that belong to `split`, sorted.

    A name is held out if its hash, a number in [0, 1), is below `eval_fraction`: a
    file stays on its side when others come or go. Of two files or more, neither
    side is left empty (unless the fraction is 0 or 1): the nearest file moves over.
    A single file is trained on.

    Raises:
      UserError: The fraction is not in [0, 1], there is no such split, or it has no
        files.
    """
    if split not in get_args(Split):
        meant = suggest.hint(split, get_args(Split))
        lines = [f"  {meant}"] if meant else []
        raise UserError(f"no split {split!r}", *lines, "  splits: train, eval")
    if not 0 <= eval_fraction <= 1:
        raise UserError(f"eval_fraction={eval_fraction} is not between 0 and 1")
    ranked = sorted(names, key=unit_hash)
    held_out = sum(unit_hash(name) < eval_fraction for name in names)
    if 0 < eval_fraction < 1:
        held_out = min(max(held_out, 1), len(ranked) - 1)
    chosen = ranked[:held_out] if split == "eval" else ranked[held_out:]
    if not chosen:
        raise UserError(
            f"split={split!r} of {len(names)} file(s) is empty "
            f"at eval_fraction={eval_fraction}",
            "  the split is by file: name more files, or change eval_fraction",
        )
    return sorted(chosen)


def unit_hash(name: str) -> float:
    """A number in [0, 1) that a name always has."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _read(
    files: Mapping[str, pathlib.Path], split: Split, eval_fraction: float
) -> Iterator[Document]:
    # Not a generator itself: a wrong split is refused now, not at the first text.
    names = files_of_split(list(files), split=split, eval_fraction=eval_fraction)
    return (_document(name, files[name]) for name in names)


def _document(name: str, path: pathlib.Path) -> Document:
    try:
        return Document(name=name, text=path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _library_files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for folder, subfolders, names in os.walk(root):
        # Not walked into: the packages beside the library may be many.
        subfolders[:] = [name for name in subfolders if name not in _NOT_LIBRARY_TEXT]
        for name in names:
            of_this_machine = name.startswith("_sysconfigdata")
            if name.endswith(".py") and not of_this_machine:
                yield pathlib.Path(folder, name)


def _folder_of(pattern: pathlib.Path) -> pathlib.Path:
    """The folder that the pattern names before its first wildcard."""
    fixed = []
    for part in pattern.parts[:-1]:
        if glob_patterns.has_magic(part):
            break
        fixed.append(part)
    return pathlib.Path(*fixed)


def _no_match(pattern: str, root: pathlib.Path) -> UserError:
    folder = root.absolute()
    there = folder
    while not there.is_dir():
        there = there.parent
    if there != folder:
        missing = folder.relative_to(there).parts[0]
        searched = f"  no folder {missing!r} in {there}"
        folders = [path.name for path in there.iterdir() if path.is_dir()]
        near = [f"{name}/" for name in suggest.nearest(missing, folders)]
    else:
        files = itertools.islice(_files_below(folder), _CANDIDATES_READ)
        names = sorted(path.relative_to(folder).as_posix() for path in files)
        searched = f"  searched {folder}, which holds {_count(len(names))}"
        wanted = pathlib.PurePath(pattern).name
        candidates = names
        if glob_patterns.has_magic(wanted):
            candidates = [f"*{pathlib.PurePath(name).suffix}" for name in names]
        near = suggest.nearest(wanted, candidates) or names[:3]
    lines = [searched]
    if near:
        lines.append("  there is: " + ", ".join(near))
    if not pathlib.Path(pattern).expanduser().is_absolute():
        lines.append("  a relative pattern starts in the working directory")
    return UserError(f"no file matches {pattern!r}", *lines)


def _files_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _count(files: int) -> str:
    if files == _CANDIDATES_READ:
        return f"{files:,} files or more"
    return f"{files:,} file" + ("" if files == 1 else "s")
