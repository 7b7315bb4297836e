"""Makes the lock files: every package that fdlkit needs, exact and with hashes.

One file a Python minor, because the newest JAX differs between them. A lock holds
what fdlkit needs to run and, by its extras, all that it and its tests use, for every
platform (environment markers tell them apart). Extras that only hand numbers over to
a service are left out (`LEFT_OUT`): they would bring a hundred packages that no test
runs. So is `tpu`: it is JAX's own, which names the one libtpu that fits, and is 700 MB.
A lock holds no address to download from: where packages come from is for each
machine's own settings to say.

Usage:
  python tools/lock.py             keeps pinned versions as far as pyproject.toml allows
  python tools/lock.py --upgrade   takes the newest versions that it allows
  python tools/lock.py --check     exit code 1 if a lock does not fit pyproject.toml
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

MINORS = ("3.11", "3.12", "3.13")
LEFT_OUT = frozenset({"mlflow", "tpu", "wandb"})
ROOT = pathlib.Path(__file__).resolve().parent.parent

HEADER = """\
# fdlkit with its extras on Python {minor}, exact and with hashes.
# Made by `make lock` (tools/lock.py) from pyproject.toml; do not edit.
"""

# Each lock is for one minor, so a marker that says so again is noise.
_MINOR_MARKER = re.compile(r"python_full_version (?:==|<|>=) '3\.\d+(?:\.\*)?'")


def drop_minor_markers(lock: str) -> str:
    """Removes the conditions on Python's version from the lines of a lock.

    Args:
      lock: The text of a lock that was resolved for one Python minor alone.
    """
    lock = re.sub(rf" ; {_MINOR_MARKER.pattern} and \((.*)\) \\\n", r" ; \1 \\\n", lock)
    lock = re.sub(rf" ; {_MINOR_MARKER.pattern} and ", " ; ", lock)
    return re.sub(rf" ; {_MINOR_MARKER.pattern}", "", lock)


def locked_extras(metadata: str) -> list[str]:
    """The extras of a pyproject.toml's text that its locks hold."""
    extras = tomllib.loads(metadata)["project"]["optional-dependencies"]
    return [name for name in extras if name not in LEFT_OUT]


def lock_path(minor: str) -> pathlib.Path:
    """Where the lock of a Python minor is kept."""
    return ROOT / "requirements" / f"lock-{minor}.txt"


def compile_lock(uv: str, minor: str, *, upgrade: bool) -> str:
    """Resolves pyproject.toml for one Python minor, on every platform.

    Args:
      uv: The uv program.
      minor: The Python to resolve for, such as `3.12`.
      upgrade: Whether to leave the versions of the present lock behind.

    Returns:
      The text of the lock file.

    Raises:
      subprocess.CalledProcessError: pyproject.toml has no solution; uv has said why.
    """
    with tempfile.TemporaryDirectory() as folder:
        # A copy that says which Python this is for: without it a lock that holds for
        # every platform would hold for every later Python too.
        project = pathlib.Path(folder)
        metadata = (ROOT / "pyproject.toml").read_text()
        only = f"[tool.uv]\nenvironments = [\"python_version == '{minor}'\"]\n"
        (project / "pyproject.toml").write_text(f"{metadata}\n{only}")
        present = lock_path(minor)
        if present.exists() and not upgrade:
            shutil.copy(present, project / "lock.txt")
        command = [
            *(uv, "pip", "compile", "pyproject.toml", "--quiet"),
            *(f"--extra={name}" for name in locked_extras(metadata)),
            *("--universal", f"--python-version={minor}", "--generate-hashes"),
            *("--no-header", "--no-emit-index-url", "--no-emit-find-links"),
            "--output-file=lock.txt",
        ]
        subprocess.run(
            command, cwd=project, check=True, stdout=subprocess.DEVNULL, timeout=600
        )
        lock = (project / "lock.txt").read_text()
    return HEADER.format(minor=minor) + drop_minor_markers(lock)


def main(argv: list[str] | None = None) -> int:
    """Writes or checks every lock; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--upgrade", action="store_true", help="take newer versions")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    uv = shutil.which("uv")
    if uv is None:
        print(
            "error: making a lock needs uv, which resolves for other Pythons too\n"
            "  to get it: pip install uv",
            file=sys.stderr,
        )
        return 2
    stale = False
    for minor in MINORS:
        path = lock_path(minor)
        try:
            lock = compile_lock(uv, minor, upgrade=options.upgrade)
        except subprocess.CalledProcessError as error:
            print(f"error: no lock for Python {minor}", file=sys.stderr)
            return error.returncode
        if options.check:
            fits = path.exists() and path.read_text() == lock
            stale |= not fits
            print(f"{path.relative_to(ROOT)}: {'fits' if fits else 'is out of date'}")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(lock)
            print(f"{path.relative_to(ROOT)}: {lock.count('==')} packages")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
