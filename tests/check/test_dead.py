"""What nothing reads: told of a user's own code, and never of what is read somehow."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import textwrap

import fiddle as fdl
import pytest

import fdlkit
from fdlkit.check.config.watching import watching


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a file of a project of its own, and imports it."""
    (tmp_path / "pyproject.toml").touch()

    def make(text: str, name: str = "someones_experiment"):
        path = tmp_path / f"{name}.py"
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, path)
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)
        return made

    return make


def dead(cfg) -> list[str]:
    """The paths, or the texts without a path, of what is found dead."""
    return [
        finding.path if finding.code == "CF016" else finding.text.split()[0]
        for finding in fdlkit.check(cfg, levels=["config"])
        if finding.code in ("CF016", "CF017")
    ]


IMPORTS = """
import dataclasses
import fiddle as fdl
import flax.linen as nn
"""
THING = f"{IMPORTS}\n@dataclasses.dataclass\nclass Thing:\n"


@pytest.mark.parametrize(
    "body",
    [
        "def run(self): return self.knob",
        "def run(self, name): return getattr(self, name)  # 'knob'\n    x = 'knob'",
        "def __post_init__(self): self.twice = [self.knob, self.knob]",
        "def run(self):\n        match self:\n            case Thing(knob=x): return x",
        "def run(self): self.knob += 1",
    ],
)
def test_a_field_that_its_class_reads_is_alive(module, body):
    made = module(
        f"{IMPORTS}\n@dataclasses.dataclass\nclass Thing:\n    knob: int\n    {body}\n"
    )
    assert dead(fdl.Config(made.Thing, knob=1)) == []


def test_a_field_that_a_subclass_a_mixin_or_a_base_reads_is_alive(module):
    made = module(
        IMPORTS
        + """
        class Mixin:
            def mixed(self): return self.first

        @dataclasses.dataclass
        class Base:
            base: int = 0
            def run(self): return self.second + self.base

        @dataclasses.dataclass
        class Thing(Mixin, Base):
            first: int = 0
            second: int = 0
            third: int = 0
            fourth: int = 0

        class Derived(Thing):
            def derived(self): return self.third
        """.replace("\n        ", "\n")
    )
    cfg = fdl.Config(made.Thing, base=1, first=1, second=1, third=1, fourth=1)
    assert dead(cfg) == ["fourth"]


def test_a_field_that_another_file_of_the_project_reads_is_alive(module, tmp_path):
    made = module(f"{THING}    knob: int\n")
    cfg = fdl.Config(made.Thing, knob=1)
    assert dead(cfg) == ["knob"]
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "plot.py").write_text("def plot(thing): return thing.knob\n")
    assert dead(cfg) == []


def test_a_mention_in_words_or_by_writing_is_no_reading(module, tmp_path):
    made = module(
        f'{IMPORTS}\n@dataclasses.dataclass\nclass Thing:\n    """The knob."""\n'
        "    knob: int\n"
    )
    (tmp_path / "sweep.py").write_text("# knob\ndef sweep(cfg): cfg.knob = 3\n")
    assert dead(fdl.Config(made.Thing, knob=1)) == ["knob"]


def test_a_field_that_is_read_by_a_name_made_up_is_seen_in_the_build(module):
    made = module(
        IMPORTS
        + """
        @dataclasses.dataclass
        class Thing:
            knob_one: int = 0
            knob_two: int = 0
            def __post_init__(self):
                self.sum = getattr(self, "_".join(("knob", "one")))
        """.replace("\n        ", "\n")
    )
    assert dead(fdl.Config(made.Thing, knob_one=1, knob_two=2)) == ["knob_two"]


def test_a_field_that_is_not_set_is_the_class_own_business(module):
    made = module(
        f"{IMPORTS}\n@dataclasses.dataclass\nclass Thing:\n    knob: int = 1\n"
    )
    assert dead(fdl.Config(made.Thing)) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.width = width", ["knob"]),
        ("self.width = width; self.knob = knob", ["knob"]),
        ("self.width = width; self.kept = knob", ["knob"]),
        ("self.width = width; self.kept = knob + 1", []),
        ("self.width = width; del knob", []),
        ("self.__dict__.update(locals())", []),
        ("super().__init__(); print(width, knob)", []),
        ("raise NotImplementedError", []),
    ],
)
def test_an_argument_of_a_constructor_is_followed(module, body, expected):
    made = module(
        "class Thing:\n"
        f"    def __init__(self, width, knob):\n        {body}\n"
        "    def run(self): return self.width\n"
    )
    assert dead(fdl.Config(made.Thing, width=1, knob=2)) == expected


def test_an_argument_of_a_function_is_dead_where_its_body_does_not_name_it(module):
    made = module(
        "def make(width, knob, *, other=0, _private=0, unused_thing=0):\n"
        "    def inner():\n        return width, other\n    return inner\n"
    )
    cfg = fdl.Config(made.make, width=1, knob=2, other=3, _private=4, unused_thing=5)
    assert dead(cfg) == ["knob"]


def test_libraries_are_trusted():
    @dataclasses.dataclass
    class Holder:
        thing: object

        def run(self):
            return self.thing

    import optax

    cfg = fdl.Config(Holder, thing=fdl.Config(optax.adam, learning_rate=1, b1=0.5))
    assert dead(cfg) == []


CONSTANTS = """
import dataclasses
import enum
import fiddle as fdl

USED, UNUSED = 1, 2
ALSO_UNUSED: int = 3
X = 4
lower = 5


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Thing:
    width: int
    def run(self): return self.width


class Mixin:
    def width(self): return self.MIXED * self.WIDTH


class Base(Mixin):
    WIDTH = 1
    MIXED = 2
    DEAD = 3
    def task(self): return fdl.Config(Thing, width=self.width() + USED)


class Large(Base):
    WIDHT = 64
"""


def test_constants_and_class_attributes_are_followed_over_bases_and_mixins(module):
    made = module(CONSTANTS)
    findings = fdlkit.check(made.Large().task(), levels=["config"])
    told = {f.text.split()[0]: f.meant for f in findings if f.code == "CF017"}
    assert told == {
        "UNUSED": "did you mean 'USED'?",
        "ALSO_UNUSED": "",
        "Base.DEAD": "",
        "Large.WIDHT": "did you mean 'WIDTH'?",
    }
    assert all(":" in f.source for f in findings)


def test_a_constant_that_another_file_imports_is_alive(module, tmp_path):
    made = module(
        "import fiddle as fdl\nLIMIT = 3\ndef base(): return fdl.Config(dict, a=1)\n"
    )
    assert dead(made.base()) == ["LIMIT"]
    (tmp_path / "other.py").write_text("from someones_experiment import LIMIT\n")
    assert dead(made.base()) == []


def test_a_loop_over_all_names_reads_any_of_them(module):
    made = module(
        "import fiddle as fdl\nLIMIT = 3\n"
        "def base(): return fdl.Config(dict, a=len(globals()))\n"
    )
    assert dead(made.base()) == []


def test_watching_leaves_a_class_as_it_was():
    @dataclasses.dataclass
    class Thing:
        one: int = 1
        two: int = 2

    class Own(Thing):
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    own = vars(Own)["__getattribute__"]
    with watching({Thing: {"one", "two"}, Own: {"two"}, int: {"real"}}) as watch:
        assert Thing().one == 1
        assert Own().two == 2
        assert Thing() == Thing()
        assert repr(Thing())
    assert watch.read == {(Thing, "one"), (Own, "two"), (int, "real")}
    assert "__getattribute__" not in vars(Thing)
    assert vars(Own)["__getattribute__"] is own
