"""Importing a user's file under the name that other files would import it by.

JSON and generated code name what a file defines by that file's module, so a file
is never run under a throw-away name when it has a real one: the dotted name from
its outermost package, or from the folder of `sys.path` that holds it. Only a file
whose name is taken by another module is given a suffix, made from its path.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import pathlib
import re
import sys
import types

from fdlkit import suggest, tracebacks
from fdlkit.errors import UserError
from fdlkit.overrides.problems import cut, quote
from fdlkit.targets import listing


def import_file(path: pathlib.Path) -> types.ModuleType:
    """The module that `path` defines; run at most once in a process.

    Raises:
      UserError: The file is missing, is not Python, or raised while it ran (with
        its own traceback, from its own first frame).
    """
    path = existing(path).resolve()
    listing.parse_source(listing.read_source(path), path)
    for module in list(sys.modules.values()):
        if _is_module_of(module, path):
            return module
    root, name = _importable_name(path)
    make_importable(root)
    if _names_this_file(name, path):
        return _guarded_import(name, path)
    return _run_as(_free_name(path), path)


def import_module(name: str) -> types.ModuleType:
    """The module called `name`; the current folder is importable, as for Python."""
    make_importable(pathlib.Path.cwd())
    parent = name.rpartition(".")[0]
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        raise _no_module(name, str(error.name or parent)) from error
    except (OSError, RecursionError) as error:  # a name longer than any folder holds
        raise _no_module(name, name) from error
    except Exception as error:
        what = f"importing {cut(parent)} raised {type(error).__name__}: {error}"
        raise UserError(what, *tracebacks.own_frames(error)) from error
    if spec is None:
        raise _no_module(name, name)
    return _guarded_import(name, spec.origin)


def existing(path: pathlib.Path) -> pathlib.Path:
    """`path` itself; if there is no such file, an error that names its neighbours."""
    if is_there(path):
        return path
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    siblings = []
    if path.parent.is_dir():
        siblings = sorted(p.name for p in path.parent.glob(f"*{path.suffix}"))
    else:
        raise UserError(
            f"no file {cut(str(path))}: there is no folder {cut(str(path.parent))}"
        )
    lines = []
    if near := suggest.nearest(path.name, siblings, n=1):
        lines.append(f"  did you mean '{path.parent / near[0]}'?")
    if siblings:
        lines.append(f"  in {path.parent}: {', '.join(siblings[:12])}")
    raise UserError(f"no file {path}", *lines)


def is_there(path: pathlib.Path) -> bool:
    """Whether there is such a file.

    Raises:
      UserError: The system cannot tell: the name is too long, a folder is locked.
    """
    try:
        return path.is_file()
    except OSError as error:
        raise UserError(f"cannot read {cut(str(path))}: {error.strerror}") from error


def _is_module_of(module: object, path: pathlib.Path) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or os.path.basename(file) != path.name:
        return False
    return getattr(module, "__name__", "") != "__main__" and (
        pathlib.Path(file).resolve() == path
    )


def _importable_name(path: pathlib.Path) -> tuple[pathlib.Path, str]:
    """The folder that must be on `sys.path`, and the dotted name below it."""
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    if path.stem == "__init__" and len(parts) > 1:
        return folder, ".".join(parts[:-1])
    if len(parts) > 1:
        return folder, ".".join(parts)
    for entry in (os.getcwd(), *sys.path):
        root = pathlib.Path(entry or os.getcwd()).resolve()
        if root in path.parents:
            below = path.relative_to(root).with_suffix("").parts
            if all(part.isidentifier() for part in below):
                return root, ".".join(below)
    return folder, path.stem


def make_importable(root: pathlib.Path) -> None:
    """Puts a folder on `sys.path` as Python does with a script's own folder."""
    present = {pathlib.Path(entry or os.getcwd()).resolve() for entry in sys.path}
    if root.resolve() not in present:
        sys.path.insert(0, str(root))
        importlib.invalidate_caches()


def _names_this_file(name: str, path: pathlib.Path) -> bool:
    """Whether `import name` would run this very file.

    Looks a level at a time, so that no parent package is run just to find out.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    if name in sys.modules:
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


def _free_name(path: pathlib.Path) -> str:
    """A name for a file whose own name is another module's; the same every time."""
    stem = re.sub(r"\W", "_", path.stem)
    return f"{stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"


def _guarded_import(name: str, origin: object) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _import_failed(error, origin) from error


def _run_as(name: str, path: pathlib.Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _import_failed(error, path) from error
    return module


def _import_failed(error: BaseException, origin: object) -> UserError:
    if isinstance(error, UserError):
        return error
    if isinstance(error, SyntaxError):
        return UserError(*listing.syntax_error_lines(error, str(origin)))
    shown = tracebacks.shown_path(str(origin))
    what = f"importing {shown} raised {type(error).__name__}: {error}"
    return UserError(what, *tracebacks.own_frames(error))


def _modules_of(folder: pathlib.Path) -> list[str]:
    """The modules that stand in a folder below the current one."""
    try:
        names = [path.stem for path in folder.glob("*.py")]
        packages = [path.parent.name for path in folder.glob("*/__init__.py")]
    except OSError:
        return []
    return sorted(name for name in {*names, *packages} if not name.startswith("_"))


def _no_module(name: str, missing: str) -> UserError:
    lines, there = [], False
    if missing != name:
        lines.append(f"  there is no module {quote(missing)}")
    file = pathlib.Path(*name.split(".")).with_suffix(".py")
    with contextlib.suppress(OSError):  # the name is too long for a file's
        there = file.is_file()
    if there:
        lines.append(f"  did you mean '{file}'?")
    elif near := suggest.nearest(file.stem, _modules_of(file.parent), n=1):
        lines.append(f"  did you mean '{'.'.join([*file.parent.parts, *near])}'?")
    lines.append(f"  searched: {os.getcwd()} and Python's own path")
    return UserError(f"no module {quote(name)}", *lines)
