"""A file's configs and fiddlers are listed without running it."""

from __future__ import annotations

import pytest

from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override, apply
from fdlkit.targets.listing import list_configs
from fdlkit.targets.loading import load_target

FILE = '''
raise RuntimeError("this file is not to be run")

from somewhere import auto_config, Trainer
import fiddle as fdl


def base(hidden: int = 64, *, tied=False) -> fdl.Config[Trainer]:
    """The usual one.

    More about it.
    """


def unannotated():
    if True:
        return make()


@auto_config.auto_config
def automatic(size):
    """Made by calls."""
    return Trainer(size)


def quoted() -> "fdl.Partial[Trainer]": ...


def bfloat16(cfg):
    """Computes in bfloat16."""


def scaled(anything: fdl.Config, by: float = 2.0) -> None: ...


def needs_a_size(size):
    return make(size)


def with_a_part(part: fdl.Config, length: int) -> fdl.Config:
    return fdl.Config(Trainer, part)


def a_number() -> int:
    return 3


def main():
    def inner():
        return 1


def constant():
    return None


def _private():
    return make()


class Trainer: ...
'''


def test_configs_and_fiddlers_are_told_apart(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(FILE)
    found = [(e.name, e.kind, e.parameters, e.summary) for e in list_configs(path)]
    assert found == [
        ("base", "config", "hidden=64, tied=False", "The usual one."),
        ("unannotated", "config", "", ""),
        ("automatic", "config", "size", "Made by calls."),
        ("quoted", "config", "", ""),
        ("bfloat16", "fiddler", "", "Computes in bfloat16."),
        ("scaled", "fiddler", "by=2.0", ""),
    ]


def test_the_line_is_that_of_the_function(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(FILE)
    lines = FILE.splitlines()
    for entry in list_configs(path):
        assert lines[entry.line - 1].startswith(f"def {entry.name}(")


def test_a_file_that_is_no_python_is_refused(tmp_path):
    path = tmp_path / "file.py"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="is not Python"):
        list_configs(path)
    with pytest.raises(UserError, match="cannot read"):
        list_configs(tmp_path / "missing.py")


ONE_RULE = """
import fiddle as fdl


def base() -> fdl.Config[dict]:
    return fdl.Config(dict, a=1)


def by_name(cfg):
    pass


def by_annotation(x: fdl.Config) -> None:
    pass


def by_what_it_does(x):
    x.a = 2


def below(x, size=3):
    del x.inner["k"].b


def reads(x):
    print(x.a)


def gives(cfg):
    return cfg.a


def typed(x: int):
    x.a = 2
"""


def test_what_is_listed_as_a_fiddler_is_what_is_suggested_as_one(tmp_path):
    path = tmp_path / "one_rule.py"
    path.write_text(ONE_RULE)
    listed = [e.name for e in list_configs(path) if e.kind == "fiddler"]
    assert listed == ["by_name", "by_annotation", "by_what_it_does", "below"]
    loaded = load_target(f"{path}:base")
    with pytest.raises(UserError) as refused:
        apply(loaded.cfg, [Override("fiddler", "xyzzy")], loaded.module)
    assert refused.value.lines[-1] == f"  fiddlers: {', '.join(listed)}"
    with pytest.raises(UserError, match="did you mean 'by_what_it_does'"):
        apply(loaded.cfg, [Override("fiddler", "by_what_it_doess")], loaded.module)


def test_a_fiddler_that_is_not_listed_may_be_named_all_the_same(tmp_path):
    path = tmp_path / "named_rule.py"
    path.write_text(ONE_RULE)
    loaded = load_target(f"{path}:base")
    cfg, _ = apply(loaded.cfg, [Override("fiddler", "typed")], loaded.module)
    assert cfg.a == 2
