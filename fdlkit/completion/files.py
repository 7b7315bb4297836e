"""Files, folders and targets as candidates."""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Literal

from fdlkit.completion.candidates import Answer, Candidate, behind
from fdlkit.errors import UserError
from fdlkit.targets import listing

# More names than this help nobody, and a folder may hold a million.
_MOST_SHOWN = 500
_MOST_READ = 20_000

# What makes a folder a run: the config that the run was started with.
_RUN_CONFIG = os.path.join("record", "config.json")

_FUNCTION_OF_FILE = re.compile(r"(?P<where>.+?\.py):(?P<name>[\w.]*)", re.DOTALL)
_FUNCTION_OF_MODULE = re.compile(r"(?P<where>[A-Za-z_][\w.]*):(?P<name>[\w.]*)")


def files(typed: str) -> Answer:
    """Files, and the folders on the way to them."""
    return _listed(typed, lambda path, is_folder: None if is_folder else Candidate(""))


def folders(typed: str) -> Answer:
    """Folders."""
    return _listed(typed, lambda path, is_folder: None)


def targets(typed: str) -> Answer:
    """Python files, JSON files, run directories; behind `file.py:` its configs."""
    match = _FUNCTION_OF_FILE.fullmatch(typed) or _FUNCTION_OF_MODULE.fullmatch(typed)
    if match is None:
        return _listed(typed, _as_target)
    file = python_file(match["where"])
    names = functions(file, "config") if file else ()
    found = tuple(c for c in names if c.value.startswith(match["name"]))
    return behind(f"{match['where']}:", Answer(found))


def functions(file: str, kind: Literal["config", "fiddler"]) -> tuple[Candidate, ...]:
    """The configs or the fiddlers of a Python file, which is read and not run."""
    try:
        entries = listing.list_configs(file)
    except UserError:  # it is half written, or gone: a verb will say so, TAB does not
        return ()
    return tuple(Candidate(e.name, e.summary) for e in entries if e.kind == kind)


def python_file(where: str) -> str | None:
    """The file of `path/file.py`, or of `pkg.mod` found without an import."""
    if where.endswith(".py"):
        return os.path.expanduser(where)
    below = where.replace(".", os.sep)
    for folder in ("", *sys.path):
        for name in (f"{below}.py", os.path.join(below, "__init__.py")):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return path
    return None


def config_of_run(folder: str) -> str | None:
    """The config that a run was started with; None where there is no run."""
    path = os.path.join(os.path.expanduser(folder), _RUN_CONFIG)
    return path if os.path.isfile(path) else None


def _as_target(path: str, is_folder: bool) -> Candidate | None:
    if is_folder:
        return Candidate("", "a run") if config_of_run(path) else None
    if path.endswith(".py"):
        return Candidate(":", is_whole=False)
    return Candidate("") if path.endswith(".json") else None


def _listed(typed: str, offer: Callable[[str, bool], Candidate | None]) -> Answer:
    """What is in the folder that was typed; `offer` says what follows a name.

    A folder for which it offers nothing can be gone into.
    """
    head, tail = typed[: typed.rfind("/") + 1], typed[typed.rfind("/") + 1 :]
    found = []
    for name, is_folder in itertools.islice(_names(head, tail), _MOST_SHOWN):
        given = offer(os.path.join(head, name), is_folder)
        if given is not None:
            found.append(Candidate(name + given.value, given.about, given.is_whole))
        elif is_folder:
            found.append(Candidate(f"{name}/", is_whole=False))
    found.sort(key=lambda candidate: candidate.value)
    return behind(head, Answer(tuple(found)))


def _names(head: str, tail: str) -> Iterator[tuple[str, bool]]:
    """The names in a folder that begin with `tail`, and whether each is a folder."""
    try:
        with os.scandir(os.path.expanduser(head) or ".") as folder:
            for entry in itertools.islice(folder, _MOST_READ):
                is_hidden = entry.name.startswith(".") and not tail.startswith(".")
                if not entry.name.startswith(tail) or is_hidden:
                    continue
                if entry.name == "__pycache__" or not entry.name.isprintable():
                    continue
                try:
                    yield entry.name, entry.is_dir()
                except OSError:
                    continue
    except OSError:
        return
