"""What a run keeps of itself: its config, command, environment and code state."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "fdlkit",
    "fiddle",
    "jax",
    "jaxlib",
    "flax",
    "optax",
    "orbax-checkpoint",
    "grain",
    "numpy",
)
# Variables that change what a run computes or on what; others may hold secrets.
VARIABLES = (
    "XLA_FLAGS",
    "LIBTPU_INIT_ARGS",
    "GLIBC_TUNABLES",
    "CUDA_VISIBLE_DEVICES",
    "TPU_VISIBLE_CHIPS",
)
PREFIXES = ("JAX_", "NCCL_")


def make_record(
    config_json: str, config_text: str, *, target: str, argv: Sequence[str]
) -> dict[str, str]:
    """The record's texts by file name.

    Args:
      config_json: The whole config, as `fdlkit.dumps` gives it.
      config_text: The same for people and for writers, `PATH = VALUE` a line.
      target: What the user named.
      argv: The command line, without the program.
    """
    start = {
        "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "target": target,
        "argv": list(argv),
    }
    return {
        "config.json": config_json,
        "config.txt": config_text,
        "command.json": _json(start),
        "environment.json": _json(environment()),
        "git.json": _json(git_state(Path.cwd())),
    }


def environment() -> dict[str, Any]:
    """Python, packages, machine and the variables that steer JAX."""
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    variables = {
        name: value
        for name, value in sorted(os.environ.items())
        if name in VARIABLES or name.startswith(PREFIXES)
    }
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "executable": sys.executable,
        "packages": versions,
        "variables": variables,
    }


def git_state(folder: Path) -> dict[str, Any]:
    """Commit, branch and changed files of the checkout that holds `folder`.

    Returns:
      An empty mapping outside a checkout, or where there is no git.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    changed = _git(folder, "status", "--porcelain") or ""
    return {
        "commit": commit,
        "branch": _git(folder, "rev-parse", "--abbrev-ref", "HEAD"),
        "changed": changed.splitlines(),
        "diff": _git(folder, "diff", "HEAD") or "",
    }


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.rstrip("\n") if done.returncode == 0 else None


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
