"""The names by which Python files can be imported, the running program's among them.

What a file defines is named by the dotted name from its outermost package, or from the
folder of `sys.path` that holds it; a class in `__main__` by its file's name, because
`__main__` is something else in every process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import re
import sys
import types

# What a program that runs calls its own module; the second: below `multiprocessing`.
MAIN = ("__main__", "__mp_main__")


def importable_name(path: pathlib.Path) -> tuple[pathlib.Path, str]:
    """The folder that must be on `sys.path`, and the dotted name below it.

    The name may be none that Python can import: `my-file`.
    """
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    if path.stem == "__init__" and len(parts) > 1:
        return folder, ".".join(parts[:-1])
    if len(parts) > 1:
        return folder, ".".join(parts)
    for entry in (*_script_folder(), os.getcwd(), *sys.path):
        root = pathlib.Path(entry or os.getcwd()).resolve()
        if root in path.parents:
            below = path.relative_to(root).with_suffix("").parts
            if all(part.isidentifier() for part in below):
                return root, ".".join(below)
    return folder, path.stem


def leads_to(name: str, path: pathlib.Path) -> bool:
    """Whether `import name`, were it done now, would run this very file.

    Looks a level at a time, so that no parent package is run just to find out.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    top = name.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    if top == name:
        return spec.origin is not None and pathlib.Path(spec.origin).resolve() == path
    folders = [pathlib.Path(p).resolve() for p in spec.submodule_search_locations or ()]
    below = pathlib.Path(*name.split(".")[1:])
    return any(
        path in ((folder / below).with_suffix(".py"), folder / below / "__init__.py")
        for folder in folders
    )


def stand_in(path: pathlib.Path) -> str:
    """A name for a file whose own cannot be imported or is taken; the same every time.

    It names what the file defines in this process; no other can import it.
    """
    stem = re.sub(r"\W", "_", path.stem)
    return f"{stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


def is_stand_in(name: str) -> bool:
    """Whether a module's name looks like one that `stand_in` gave."""
    return re.fullmatch(r"\w*_[0-9a-f]{8}", name) is not None


def main_name() -> str | None:
    """The name by which other programs import the file that runs as `__main__`.

    None if there is no such file (a notebook, an interactive session, `python -c`), or
    if it cannot be imported.
    """
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in MAIN:  # python -m package.module
        return spec.name
    path = _file_of(main)
    if path is None:
        return None
    root, name = importable_name(path)
    loaded = sys.modules.get(name)
    if loaded is not None and loaded is not main:
        return name if _file_of(loaded) == path else None
    in_package = "." in name and (path.parent / "__init__.py").is_file()
    return name if leads_to(name, path) or (in_package and root) else None


def why_main_has_no_name() -> str:
    """What to do about a class of `__main__` that `main_name` has no name for."""
    path = _file_of(sys.modules.get("__main__"))
    if path is None:
        return (
            "a notebook or an interactive session; "
            "move it into a .py file and import it from there"
        )
    return (
        f"no other program can import {path.name}; "
        "move it into a file that can be imported"
    )


def _script_folder() -> list[str]:
    """The folder of a running script: from it the files in it import one another."""
    main = sys.modules.get("__main__")
    path = _file_of(main)
    is_script = path is not None and getattr(main, "__spec__", None) is None
    return [str(path.parent)] if path is not None and is_script else []


def _file_of(module: types.ModuleType | None) -> pathlib.Path | None:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not os.path.isfile(file):
        return None
    return pathlib.Path(file).resolve()
