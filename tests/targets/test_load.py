"""A target leads to the config it names, or to a line that says what was meant."""

from __future__ import annotations

import sys

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.serialize.writing import dumps
from fdlkit.targets.loading import load, load_target

PLAIN = '''
"""A file of configs."""
import fiddle as fdl
from fiddle.experimental.auto_config import auto_config


class Thing:
    def __init__(self, size: int = 1, names: tuple[str, ...] = ()):
        self.size = size


def base(size: int = 3, *, names: tuple[str, ...] = ()) -> fdl.Config:
    """The usual thing."""
    return fdl.Config(Thing, size=size, names=names)


def part() -> fdl.Partial:
    return fdl.Partial(Thing)


@auto_config
def automatic(size: int = 5) -> Thing:
    return Thing(size=size)


def needs(size: int) -> fdl.Config:
    return fdl.Config(Thing, size=size)


def number():
    return 3


def fails():
    return helper()


def helper():
    return fdl.Config(Thing, siez=1)


def leaves():
    raise SystemExit("good bye")


CONSTANT = fdl.Config(Thing)
'''


@pytest.fixture
def write(write):
    """The same, with the usual file where no text is given."""
    return lambda name, text=PLAIN: write(name, text)


def refused(target):
    with pytest.raises(UserError) as error:
        load_target(target)
    assert error.value.exit_code == 2
    return error.value.lines


def test_a_function_of_a_file_makes_the_config(write):
    path = write("plain.py")
    loaded = load_target(f"{path}:base")
    assert loaded.cfg.size == 3
    assert loaded.file == path
    assert loaded.function == "base"
    assert loaded.source == path.read_text()
    assert loaded.module.base.__doc__ == "The usual thing."


def test_arguments_are_typed_by_annotation(write):
    cfg = load_target(f"{write('plain.py')}:base(size=1e2, names=['a', b])").cfg
    assert (cfg.size, cfg.names) == (100, ("a", "b"))


def test_an_auto_config_function_is_a_config(write):
    cfg = load_target(f"{write('plain.py')}:automatic(size=7)").cfg
    assert isinstance(cfg, fdl.Config)
    assert cfg.size == 7


def test_the_root_may_be_a_partial(write):
    assert isinstance(load_target(f"{write('plain.py')}:part").cfg, fdl.Partial)


def test_each_load_gives_a_config_of_its_own(write):
    path = write("plain.py")
    one, two = load_target(f"{path}:base").cfg, load_target(f"{path}:base").cfg
    assert one is not two
    assert fdl.get_callable(one) is fdl.get_callable(two)


def test_what_a_file_defines_is_found_under_its_module(write):
    thing = fdl.get_callable(load_target(f"{write('plain_name.py')}:base").cfg)
    assert thing.__module__ == "plain_name"
    assert sys.modules["plain_name"].Thing is thing


def test_two_files_of_one_name_do_not_clash(write):
    text = "import fiddle as fdl\ndef base(): return fdl.Config(dict, who={!r})"
    one = write("a/twin.py", text.format("a"))
    two = write("b/twin.py", text.format("b"))
    assert load_target(f"{one}:base").cfg.who == "a"
    loaded = load_target(f"{two}:base")
    assert loaded.cfg.who == "b"
    assert sys.modules[loaded.module.__name__] is loaded.module
    assert load_target(f"{one}:base").cfg.who == "a"


def test_a_file_named_like_a_library_leaves_the_library_alone(write):
    import json

    path = write("json.py", "import fiddle as fdl\ndef base(): return fdl.Config(dict)")
    load_target(f"{path}:base")
    assert sys.modules["json"] is json


def test_a_file_in_a_package_has_its_dotted_name(write):
    write("pack/__init__.py", "")
    write("pack/common.py", "WIDTH = 11")
    path = write(
        "pack/sub/lm.py",
        """
        import fiddle as fdl
        from ..common import WIDTH

        def base():
            return fdl.Config(dict, width=WIDTH)
        """,
    )
    write("pack/sub/__init__.py", "")
    loaded = load_target(f"{path}:base")
    assert loaded.cfg.width == 11
    assert loaded.module.__name__ == "pack.sub.lm"


def test_a_module_of_the_current_folder_is_importable(write, monkeypatch):
    path = write("folder/here.py")
    write("folder/inner/there.py")
    monkeypatch.chdir(path.parent)
    assert load_target("here:base").module.__name__ == "here"
    assert load_target("inner.there:base").module.__name__ == "inner.there"
    assert load_target("inner/there.py:base").module is sys.modules["inner.there"]


def test_a_wrong_name_lists_the_configs_of_the_file(write):
    path = write("plain.py")
    assert refused(f"{path}:bse") == (
        f"no config 'bse' in {path}",
        f"  did you mean '{path}:base'?",
        "  configs:",
        "    base       The usual thing.",
        "    part",
        "    automatic",
        "    needs",
        "    fails",
        "    helper",
    )


def test_a_file_without_a_name_asks_which(write):
    path = write("plain.py")
    first, second, *_ = refused(str(path))
    assert first == f"'{path}' names a file: which config of it?"
    assert second == "  configs:"


def test_a_missing_file_is_told_its_neighbours(write):
    path = write("lm.py")
    assert refused(f"{path.parent}/lmm.py:base") == (
        f"no file {path.parent}/lmm.py",
        f"  did you mean '{path}'?",
        f"  in {path.parent}: lm.py",
    )


def test_a_missing_folder_is_named(tmp_path):
    assert refused(f"{tmp_path}/no/lm.py:base") == (
        f"no file {tmp_path}/no/lm.py: there is no folder {tmp_path}/no",
    )


def test_a_function_that_raises_shows_the_users_own_frames(write):
    path = write("plain.py")
    first, *rest = refused(f"{path}:fails")
    assert first.startswith(f"{path}:fails raised TypeError: ")
    assert [line for line in rest if line.startswith("  " + str(path))] == [
        f"  {path}:35 in fails",
        f"  {path}:39 in helper",
    ]
    assert rest[-1] == "    return fdl.Config(Thing, siez=1)"
    assert not any("site-packages" in line for line in rest)


def test_a_function_that_exits_does_not_end_the_program(write):
    assert "raised SystemExit: good bye" in refused(f"{write('plain.py')}:leaves")[0]


def test_a_file_that_raises_is_not_left_half_imported(write):
    path = write("broken_file.py", "x = 1\ny = x / 0\n")
    assert refused(f"{path}:base") == (
        f"importing {path} raised ZeroDivisionError: division by zero",
        f"  {path}:2 in <module>",
        "    y = x / 0",
    )
    assert "broken_file" not in sys.modules
    path.write_text("import fiddle as fdl\ndef base(): return fdl.Config(dict)\n")
    assert isinstance(load_target(f"{path}:base").cfg, fdl.Config)


def test_places_below_the_current_folder_are_told_as_one_would_type_them(
    write, monkeypatch
):
    path = write("project/experiments/mine.py", "x = 1\ny = x / 0\n")
    monkeypatch.chdir(path.parent.parent)
    assert refused("experiments/mine.py:base") == (
        "importing experiments/mine.py raised ZeroDivisionError: division by zero",
        "  experiments/mine.py:2 in <module>",
        "    y = x / 0",
    )


def test_a_syntax_error_is_shown_with_a_caret(write):
    path = write("odd.py", "def base():\n    return (1,\n")
    what, code, caret = refused(f"{path}:base")
    assert what == f"{path}:2: '(' was never closed"
    assert code[caret.index("^")] == "("


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("number", "returned 3 (int), which is no config"),
        ("CONSTANT", "is a config, not a function"),
        ("needs", "needs size"),
        ("base(sizr=3)", "base has no parameter 'sizr'"),
        ("base(size=x)", "'x' is not an int"),
        ("base(3)", "the arguments of base are given by name"),
        ("base(", "is not the name of a function"),
        ("ba se", "is not the name of a function"),
    ],
)
def test_what_gives_no_config_is_refused(write, name, what):
    assert what in refused(f"{write('plain.py')}:{name}")[0]


def test_a_wrong_argument_is_marked(write):
    path = write("plain.py")
    assert refused(f"{path}:base(sizr=3)")[1:] == (
        f"  {path}:base(sizr=3)",
        f"  {' ' * len(str(path))}      ^^^^ did you mean 'size'?",
        "  parameters: size, names",
    )


@pytest.mark.parametrize(
    "target", ["", ":", ":base", "a b:c", "no_such_module_x:base", "no_such_run_x"]
)
def test_what_is_no_target_is_refused(target):
    assert refused(target)


def test_the_standard_library_can_be_a_target():
    assert "is a module, not a function" in refused("os:path")[0]
    assert "is not a Python file" in refused("sys:exit")[0]


def test_the_face_gives_the_config_itself(write):
    target = f"{write('plain.py')}:base"
    assert load(target) == load_target(target).cfg


def test_a_config_in_json_may_name_an_allowed_module_of_the_current_folder(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_parts.py").write_text("def part(size=1):\n    return size\n")
    (tmp_path / "own.py").write_text(
        "import fiddle as fdl\nfrom own_parts import part\n"
        "def base():\n    return fdl.Config(part, size=3)\n"
    )
    (tmp_path / "own.json").write_text(dumps(load("own.py:base")))
    sys.modules.pop("own_parts")
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != str(tmp_path)])
    with pytest.raises(UserError, match="allow"):
        load("own.json")
    assert load("own.json", allow=["own_parts"]).size == 3
