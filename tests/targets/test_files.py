"""Files of every kind of name and content, and files that change."""

from __future__ import annotations

import os
import subprocess
import sys

import fiddle as fdl
import pytest

import fdlkit
from fdlkit.errors import UserError
from fdlkit.targets.loading import load, load_target

BASE = (
    "import fiddle as fdl\ndef base(size=3):\n    return fdl.Config(dict, size=size)\n"
)


def refused(target):
    with pytest.raises(UserError) as error:
        load_target(target)
    assert error.value.exit_code == 2
    assert all(len(line) < 600 for line in error.value.lines)
    return error.value.lines


@pytest.mark.parametrize(
    "name",
    [
        "with space.py",
        "with-dash.py",
        "1st.py",
        "class.py",
        "ünï.py",
        "a.b.py",
        "folder with space/x.py",
        "deep/er/x.py",
        "odd[1]*.py",
        "a:b.py",
        "__init__.py",
    ],
)
def test_a_file_may_have_any_name(write, name):
    path = write(name, BASE)
    loaded = load_target(f"{path}:base")
    assert loaded.cfg.size == 3
    assert loaded.file == path
    assert sys.modules[loaded.module.__name__] is loaded.module


def test_a_class_of_a_file_that_cannot_be_imported_is_named_all_the_same(write):
    path = write("my-file.py", BASE.replace("dict", "f") + "def f(size): ...\n")
    cfg = load(f"{path}:base")
    text = fdlkit.dumps(cfg)
    module = fdl.get_callable(cfg).__module__
    assert fdlkit.equal(fdlkit.loads(text, allow=[module]), cfg)
    del sys.modules[module]  # as in another process
    with pytest.raises(UserError, match="rename that file"):
        fdlkit.loads(text, allow=[module])


def test_a_symlink_is_the_file_it_leads_to(write):
    path = write("real/target_of_link.py", BASE)
    link = path.parent.parent / "link.py"
    link.symlink_to(path)
    loaded = load_target(f"{link}:base")
    assert loaded.file == path
    assert load_target(f"{path}:base").module is loaded.module


def test_a_symlink_to_nothing_or_to_itself_is_no_file(tmp_path):
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    for name in ("gone.py", "loop.py"):
        assert refused(f"{tmp_path}/{name}:base")[0].startswith(f"no file {tmp_path}/")


def test_a_folder_is_not_a_file(tmp_path):
    (tmp_path / "folder.py").mkdir()
    assert refused(f"{tmp_path}/folder.py:base") == (
        f"{tmp_path}/folder.py is a folder, not a file",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told(write):
    path = write("secret.py", BASE)
    path.chmod(0)
    assert refused(f"{path}:base") == (f"cannot read {path}: Permission denied",)


def test_a_byte_order_mark_is_no_obstacle(tmp_path, write):
    path = write("marked.py", "")
    path.write_bytes(b"\xef\xbb\xbf" + BASE.encode())
    assert load(f"{path}:base").size == 3


def test_the_encoding_that_a_file_declares_is_heeded(write):
    path = write("latin.py", "")
    text = "# -*- coding: latin-1 -*-\n" + BASE.replace("size=3", "size='é'")
    path.write_bytes(text.encode("latin-1"))
    assert load(f"{path}:base").size == "é"


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x = 1\x00\n", b"# \xe9\n"])
def test_what_is_no_python_text_is_refused(write, content):
    path = write("binary.py", "")
    path.write_bytes(content)
    assert str(path) in refused(f"{path}:base")[0]


@pytest.mark.parametrize(
    "target",
    [
        f"{'x' * 5000}.py:base",
        f"{'x' * 5000}.py",
        f"{'x/' * 2500}y.py:base",
        f"{'x' * 5000}.json",
        "x" * 5000,
        f"{'x' * 5000}:base",
        f"x.py:{'b' * 5000} c",
        f"{'x' * 5000} y:base",
        "~no_such_user_zz/lm.py:base",
        "~no_such_user_zz/runs",
        "a\0b.py:base",
        "a\0b.json",
        "a\0b",
        "a\nb.py:base",
        ".py:base",
        "/:base",
    ],
    ids=lambda target: ascii(target[:12]),
)
def test_no_spelling_is_too_odd_to_be_refused(target):
    assert refused(target)


def test_a_forgotten_ending_is_suggested(write, monkeypatch):
    path = write("ending/lm.py", BASE)
    monkeypatch.chdir(path.parent.parent)
    what, hint, *_ = refused("ending/lm:base")
    assert what == "'ending/lm:base' is not a target"
    assert hint == "  did you mean 'ending/lm.py:base'?"


def test_a_notebook_is_refused_with_the_remedy():
    for target in ("work.ipynb:base", "some/work.ipynb:base", "work.ipynb"):
        what, remedy = refused(target)
        assert what.endswith("is a notebook, and what is in one cannot be imported")
        assert "move the function into a .py file" in remedy


def test_a_file_of_another_kind_is_said_to_be_one(write, monkeypatch):
    path = write("kinds/lm.yaml", "a: 1\n")
    monkeypatch.chdir(path.parent)
    assert "  lm.yaml is a file, but no Python file (.py)" in refused("lm.yaml:base")
    neither = "is neither a Python file (.py) nor JSON (.json)"
    assert f"  {path} {neither}" in refused(f"{path}:base")
    assert f"  {path} {neither}" in refused(str(path))


def test_a_coroutine_function_makes_no_config(write):
    path = write("later.py", "async def base():\n    return 1\n")
    assert refused(f"{path}:base") == (
        f"{path}:base is a coroutine function, and a config is not waited for",
        "  write def base in place of async def base",
    )


def test_auto_config_methods_are_configs(write):
    path = write(
        "methods.py",
        """
        from fiddle.experimental.auto_config import auto_config

        class Thing:
            def __init__(self, size: int = 1):
                self.size = size

            @auto_config
            @classmethod
            def small(cls, size: int = 2):
                return cls(size=size)

            @auto_config
            @staticmethod
            def large():
                return Thing(size=100)

        tiny = Thing.small.as_buildable
        """,
    )
    assert load(f"{path}:Thing.small").size == 2
    assert load(f"{path}:Thing.small(size=1e1)").size == 10
    assert load(f"{path}:Thing.large").size == 100
    assert load(f"{path}:tiny(size=5)").size == 5
    assert "'x' is not an int" in refused(f"{path}:tiny(size=x)")[0]
    assert refused(f"{path}:Thing.smal")[0].startswith("no config 'Thing.smal'")


def test_an_edited_file_is_run_again(write):
    path = write("edited.py", BASE)
    before = load_target(f"{path}:base")
    path.write_text(BASE.replace("3", "4"))  # same length, same second
    after = load_target(f"{path}:base")
    assert (before.cfg.size, after.cfg.size) == (3, 4)
    assert after.source == path.read_text()
    assert sys.modules[after.module.__name__] is after.module
    assert load_target(f"{path}:base").module is after.module


def test_a_function_that_was_removed_is_gone(write):
    path = write("edited.py", BASE)
    load(f"{path}:base")
    path.write_text(BASE.replace("base", "other"))
    assert load(f"{path}:other").size == 3
    assert refused(f"{path}:base")[0].startswith("no config 'base'")


def test_an_edit_that_fails_leaves_what_was_there(write):
    path = write("edited.py", BASE)
    before = load_target(f"{path}:base").module
    path.write_text("x = 1 / 0\n")
    assert "ZeroDivisionError" in refused(f"{path}:base")[0]
    assert sys.modules[before.__name__] is before
    path.write_text("def base(:\n")
    assert refused(f"{path}:base")[1:]
    path.write_text(BASE.replace("3", "5"))
    assert load(f"{path}:base").size == 5


def test_an_edited_module_is_run_again_too(write, monkeypatch):
    path = write("edited_package/lm.py", BASE)
    write("edited_package/__init__.py", "")
    monkeypatch.chdir(path.parent.parent)
    assert load("edited_package.lm:base").size == 3
    path.write_text(BASE.replace("3", "4"))
    assert load("edited_package.lm:base").size == 4
    import edited_package.lm

    assert edited_package.lm.base().size == 4


def test_what_runs_is_the_text_and_not_what_python_kept_of_it(write):
    path = write("kept.py", BASE)
    command = [sys.executable, "-c", "import kept"]
    subprocess.run(command, cwd=path.parent, check=True, timeout=60)
    times = path.stat()
    path.write_text(BASE.replace("3", "4"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert load(f"{path}:base").size == 4


def test_the_program_finds_files_from_any_folder(write):
    path = write("project/experiments/mine.py", BASE)
    write("project/experiments/runs/here.txt", "")
    for folder, target in [
        (path.parent.parent, "experiments/mine.py:base"),
        (path.parent.parent, "experiments.mine:base"),
        (path.parent, "mine.py:base"),
        (path.parent / "runs", "../mine.py:base"),
        ("/", f"{path}:base"),
    ]:
        done = subprocess.run(
            [sys.executable, "-m", "fdlkit", "show", target],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "size = 3" in " ".join(done.stdout.split())
