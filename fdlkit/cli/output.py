"""Where an answer goes: stdout, or a file that is written whole or not at all."""

from __future__ import annotations

import errno
import os
import pathlib
import sys

from fdlkit import whole_file
from fdlkit.errors import RunFailedError, UserError
from fdlkit.overrides.problems import cut
from fdlkit.targets import spelling

# What the place has no room for; that is no mistake of whoever has named it.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def write(answer: str | bytes, out: str | None) -> None:
    """Writes an answer to the file `out`, or to stdout if that is None.

    Raises:
      UserError: The file cannot be written. What was there before is there still.
      RunFailedError: It cannot for want of room.
    """
    data = answer
    if isinstance(data, str):
        # Half a pair of surrogates is no UTF-8; its escape is what JSON has for it.
        data = data.encode("utf-8", "backslashreplace")
    if out is None:
        if isinstance(answer, str):
            sys.stdout.write(answer)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
        return
    path = pathlib.Path(out).expanduser()
    try:
        check(out)
        _keep_sources(path, out)
        # A pipe or a device (`--out=/dev/stdout`) is no file that could be replaced.
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            whole_file.replace(path.resolve(), data)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        reason = error.strerror if isinstance(error, OSError) else error
        full = isinstance(error, OSError) and error.errno in _FULL
        kind = RunFailedError if full else UserError
        raise kind(f"cannot write {cut(out)}: {reason}") from error


def _keep_sources(path: pathlib.Path, out: str) -> None:
    """Refuses to replace a file of Python that the answer was made from.

    Raises:
      UserError: The file, or what it is a link to, is a module of this process.
    """
    if not path.is_file():
        return
    real = os.path.realpath(path)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.realpath(file) == real:
            raise UserError(
                f"cannot write {cut(out)}: the answer is made from it (module {name})",
                "  give --out the name of another file",
            )


def check(out: str | None, *targets: str) -> None:
    """Refuses what cannot be a file, before any work is done for it.

    Args:
      out: The file's name; None: stdout.
      *targets: What the answer is made from.

    Raises:
      UserError: It has no name, its folder does not exist, it is a folder, or a
        target is that very file.
    """
    if out is None:
        return
    if not out:
        raise UserError("--out needs the name of a file")
    path = pathlib.Path(out).expanduser()
    # What no file can be called is no folder either, and is told when it is written.
    if os.path.isdir(path):
        raise UserError(f"cannot write {cut(out)}: it is a folder")
    if os.path.isdir(path.parent):
        _keep_targets(path, out, targets)
        return
    folder = cut(str(path.parent))
    if os.path.exists(path.parent):
        raise UserError(f"cannot write {cut(out)}: {folder} is no folder")
    raise UserError(
        f"cannot write {cut(out)}: there is no folder {folder}",
        f"  to make it: mkdir -p {folder}",
    )


def _keep_targets(path: pathlib.Path, out: str, targets: tuple[str, ...]) -> None:
    """Refuses to replace the file that a target names.

    Raises:
      UserError: The file, or what it is a link to, is that of a target.
    """
    if not os.path.isfile(path):  # False of what no file can be called
        return
    for target in targets:
        try:
            spelt = spelling.parse(target)
        except UserError:
            continue  # told by whoever loads it
        if spelt.kind not in ("file", "json") or not os.path.isfile(spelt.path):
            continue
        if os.path.samefile(path, spelt.path):
            raise UserError(
                f"cannot write {cut(out)}: the answer is made from it "
                f"(target {cut(target)})",
                "  give --out the name of another file",
            )
