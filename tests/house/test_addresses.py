"""Nothing in the repo points at one machine or at one package registry."""

from __future__ import annotations

import re
import subprocess

import pytest

# Spelt in parts, so that this file does not hold what it looks for.
REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org")
REGISTRY = re.compile("|".join(map(re.escape, REGISTRIES)))

# A folder of a person's or a machine's own, at the start of an absolute path.
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:root|work|home/\w+|Users/\w+)/\w")


def addresses(text):
    """The lines of a text that hold a path of a machine or a registry's address."""
    for number, line in enumerate(text.splitlines(), start=1):
        if REGISTRY.search(line) or MACHINE_PATH.search(line):
            yield f"{number}: {line.strip()}"


@pytest.fixture(scope="module")
def tracked(root):
    """Every text file that git tracks or would track, by its path."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(
        command, cwd=root, check=True, capture_output=True, text=True, timeout=60
    )
    texts = {}
    for name in filter(None, done.stdout.split("\0")):
        path = root / name
        if path.is_file():
            data = path.read_bytes()
            if b"\0" not in data:
                texts[name] = data.decode()
    return texts


def test_no_file_holds_a_path_of_a_machine_or_a_registry(tracked):
    assert "pyproject.toml" in tracked
    found = [
        f"{name}:{line}" for name, text in tracked.items() for line in addresses(text)
    ]
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://" + REGISTRIES[0] + "/simple",
        "see " + REGISTRIES[1],
        "open('" + "/ro" + "ot/x')",
        "/ho" + "me/me/data",
        "#!/wo" + "rk/main/.venv/bin/python",
    ],
)
def test_an_address_is_caught(line):
    assert list(addresses(f"fine\n{line}\n")) == [f"2: {line}"]


@pytest.mark.parametrize(
    "line", ["runs/work/x", "<root>/model", "gs://b/home/x", "~/x"]
)
def test_a_path_of_no_machine_passes(line):
    assert not list(addresses(line))


def test_a_lock_holds_versions_and_hashes_and_nothing_else(root):
    locks = sorted((root / "requirements").glob("lock-*.txt"))
    assert [lock.name for lock in locks] == [
        "lock-3.11.txt",
        "lock-3.12.txt",
        "lock-3.13.txt",
    ]
    kinds = re.compile(
        r"[a-z0-9-]+(\[[a-z,]+\])?==[\w.]+( ; [\w .'()=!<>]+)? \\"  # a package
        r"|    --hash=sha256:[0-9a-f]{64}( \\)?"
        r"| *# .*"
    )
    for lock in locks:
        lines = lock.read_text().splitlines()
        odd = [line for line in lines if not kinds.fullmatch(line)]
        assert not odd, (lock.name, odd)
        assert sum("==" in line for line in lines) > 30
