"""An answer goes to a file whole or not at all."""

from __future__ import annotations

import os
import pathlib
import signal
import stat
import subprocess
import sys

import pytest

from fdlkit.cli import output
from fdlkit.errors import UserError


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    output.write("new\n", str(path))
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_mode_that_files_have(tmp_path):
    output.write(b"\x89", str(tmp_path / "a.png"))
    (tmp_path / "b").touch()
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    output.write("new", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_missing_folder_is_told_with_the_remedy(tmp_path):
    with pytest.raises(UserError) as refused:
        output.write("x", str(tmp_path / "no" / "x.svg"))
    assert "there is no folder" in refused.value.lines[0]
    assert refused.value.lines[1] == f"  to make it: mkdir -p {tmp_path / 'no'}"


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UserError, match="it is a folder"):
        output.check(str(tmp_path))


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    output.write("through", str(pipe))
    assert reader.communicate(timeout=60)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    code = (
        "import resource, signal, sys; from fdlkit.cli import output;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "output.write('x' * 5000, sys.argv[1])"
    )
    done = run(code, path)
    assert "RunFailedError: cannot write" in done.stderr
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.html"]


def test_a_kill_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    code = (
        "import os, sys, time; from fdlkit.cli import output;"
        "os.fsync = lambda file: (print('written', flush=True), time.sleep(600));"
        "output.write('new' * 5000, sys.argv[1])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "written\n"
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert path.read_text() == "old"


def run(code: str, path: pathlib.Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120
    )
