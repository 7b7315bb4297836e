"""Files that import lazily, by Fiddle's `lazy_imports`, keep what that is for."""

from __future__ import annotations

import sys

import fiddle as fdl
import pytest

import fdlkit
from fdlkit.cli.main import main
from fdlkit.errors import UserError
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override
from fdlkit.targets.overridden import load_overridden
from fdlkit.view import tree

PARTS = """
class Model:
    def __init__(self, hidden: int = 4, act=None, inner=None):
        self.hidden, self.act, self.inner = hidden, act, inner

    @classmethod
    def large(cls, hidden: int = 100):
        return cls(hidden)


def relu(x: float = 0.0):
    return max(x, 0.0)
"""

CONFIGS = """
import fiddle as fdl
from fiddle.experimental import lazy_imports

with lazy_imports.lazy_imports():
    import lazy_pack.parts as parts
    from lazy_pack import parts as again
    import no_such_library_zz.layers as ghosts


def base():
    return fdl.Config(
        parts.Model,
        hidden=8,
        act=fdl.Partial(again.relu),
        inner=fdl.Config(parts.Model.large, hidden=9),
    )


def haunted():
    return fdl.Config(parts.Model, hidden=8, inner=fdl.Config(ghosts.Layer, width=3))
"""


@pytest.fixture
def file(write):
    write("lazy_pack/__init__.py", "")
    write("lazy_pack/parts.py", PARTS)
    return write("lazy_configs.py", CONFIGS)


def test_it_is_shown_by_its_names_and_imports_nothing(file):
    cfg = fdlkit.load(f"{file}:base")
    text = tree.render(tree.tree(snapshot(cfg)))
    assert "inner = large" in text and "partial relu" in text
    assert "Proxy" not in text
    assert "lazy_pack.parts" not in sys.modules


def test_it_is_the_config_that_it_would_be_if_it_were_imported_at_once(file, write):
    lazy = fdlkit.load(f"{file}:base")
    text = fdlkit.dumps(lazy)
    assert "lazy_pack.parts:Model.large" in text
    assert "lazy_pack.parts" not in sys.modules
    eager = fdlkit.loads(text, allow=["lazy_pack.parts"])
    assert fdl.get_callable(eager) is sys.modules["lazy_pack.parts"].Model
    assert fdlkit.equal(eager, fdlkit.load(f"{file}:base"))


def test_it_is_built(file):
    cfg = fdlkit.load(f"{file}:base")
    model = fdlkit.build(cfg)
    assert (model.hidden, model.inner.hidden, model.act(x=2.0)) == (8, 9, 2.0)


def test_an_override_is_typed_by_what_the_name_stands_for(file):
    changes = [Override("set", "hidden=1e2"), Override("set", "inner.hidden+=1")]
    loaded, notes = load_overridden(f"{file}:base", changes)
    assert (loaded.cfg.hidden, loaded.cfg.inner.hidden) == (100, 10)
    assert notes == ()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("hiden=3", "did you mean 'hidden'?"),
        ("hidden=abc", "'abc' is not an int"),
        ("inner.hidn=3", "did you mean 'hidden'?"),
    ],
)
def test_a_mistake_is_found_as_in_any_file(file, change, what):
    with pytest.raises(UserError) as error:
        load_overridden(f"{file}:base", [Override("set", change)])
    assert what in "\n".join(error.value.lines)


def test_what_cannot_be_imported_here_can_be_shown_and_changed(file, capsys):
    assert main(["show", f"{file}:haunted"]) == 0
    out, err = capsys.readouterr()
    assert "Layer" in out and err == ""
    assert main(["show", f"{file}:haunted", "--fdl_set=inner.width=5"]) == 0
    out, err = capsys.readouterr()
    assert "width = 5" in " ".join(out.split())
    assert err == (
        "note: what the config names in no_such_library_zz.layers is not checked: it "
        "cannot be imported here (ModuleNotFoundError: No module named "
        "'no_such_library_zz')\n"
    )


def test_building_what_cannot_be_imported_says_so(file):
    with pytest.raises(UserError) as error:
        fdlkit.build(fdlkit.load(f"{file}:haunted"))
    text = "\n".join(error.value.lines)
    assert "cannot build inner (no_such_library_zz.layers.Layer)" in text
    assert "No module named 'no_such_library_zz'" in text


def test_an_override_names_what_the_file_imports_lazily(file):
    overrides = [
        Override("set", "inner=parts.Model"),
        Override("set", "act=again.relu(x=1)"),
    ]
    cfg = load_overridden(f"{file}:base", overrides)[0].cfg
    built = fdlkit.build(cfg)
    assert (built.inner.hidden, built.act) == (9, 1.0)


def test_what_cannot_be_imported_is_told_where_it_is_named(file):
    with pytest.raises(UserError, match="cannot import 'no_such_library_zz"):
        load_overridden(f"{file}:base", [Override("set", "inner=ghosts.Layer")])
    with pytest.raises(UserError, match="did you mean 'Model'"):
        load_overridden(f"{file}:base", [Override("set", "inner=parts.Modl")])


def test_what_is_imported_lazily_is_explained_without_an_import(file):
    cfg = fdlkit.load(f"{file}:haunted")
    told = fdlkit.explain(cfg, "inner.width")
    assert (told.value, told.taker.callable) == ("3", "no_such_library_zz.layers.Layer")
    assert told.taker.defined is None
    assert "no_such_library_zz" not in sys.modules
