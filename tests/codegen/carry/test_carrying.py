"""What of own modules comes along, and what its text becomes."""

from __future__ import annotations

import importlib
import sys
import textwrap

import pytest

from fdlkit.codegen.carry.carrier import carry
from fdlkit.codegen.carry.homes import Definition, Homes, OwnModule
from fdlkit.codegen.script import head
from fdlkit.errors import UserError


@pytest.fixture
def carried(tmp_path, monkeypatch):
    """Carries `root` of the module `mine` from files that are given by name."""
    made = set()

    def forget():  # what other tests have imported by the same names, too
        for name in list(sys.modules):
            if name.partition(".")[0] in made:
                del sys.modules[name]

    def run(files, *roots, attributes=()):
        for name, text in files.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
            made.add(name.partition("/")[0])
        monkeypatch.syspath_prepend(tmp_path)
        forget()
        importlib.invalidate_caches()
        importlib.import_module("mine")
        return carry(
            [Definition("mine", root) for root in roots or ("root",)],
            homes=Homes(),
            attributes=attributes,
            entered=["mine"],
        )

    yield run
    forget()


def text(carried):
    return "\n\n".join(section.text for section in carried.sections)


def ran(carried):
    """The names of the carried text, run by itself."""
    names = {"__name__": "script"}
    imports = head.imports(carried)
    exec(f"from __future__ import annotations\n{imports}\n\n{text(carried)}", names)
    return names


def test_only_what_is_reached_comes_along(carried):
    found = carried(
        {
            "mine": """
            import math
            import helpers as h

            def unused():
                return h.also_unused()

            # What the area
            # is made of.
            def root(r):
                '''An area.'''
                return h.PI * r * r  # a circle's
            """,
            "helpers": "PI = 3  # about\nOTHER = 4\ndef also_unused(): ...\n",
        }
    )
    assert text(found) == (
        "PI = 3  # about\n\n"
        "# What the area\n# is made of.\ndef root(r):\n    '''An area.'''\n"
        "    return PI * r * r  # a circle's"
    )
    assert ran(found)["root"](2) == 12


def test_methods_that_nobody_calls_go_with_the_comments_above_them(carried):
    found = carried(
        {
            "mine": """
            class Box:
                '''Holds.'''

                size = 2

                def kept(self):
                    return self.size

                # Of no use.
                def dropped(self):
                    return self.kept()

                def __len__(self):
                    return self.size

            def root():
                return Box().kept()
            """
        }
    )
    assert "dropped" not in text(found) and "Of no use" not in text(found)
    assert "__len__" in text(found)
    assert ran(found)["root"]() == 2


def test_a_method_that_a_library_calls_or_a_string_names_is_kept(carried):
    found = carried(
        {
            "mine": """
            import argparse

            class Parser(argparse.ArgumentParser):
                def error(self, message):
                    raise ValueError(message)

                def named(self):
                    return 1

                def unnamed(self):
                    return 2

            def root():
                return getattr(Parser(), "named")()
            """
        }
    )
    assert "def error" in text(found) and "def named" in text(found)
    assert "def unnamed" not in text(found)


@pytest.mark.parametrize(
    ("imported", "used"),
    [
        ("import pack.parts", "pack.parts.half"),
        ("import pack.parts as p", "p.half"),
        ("from pack import parts", "parts.half"),
        ("from pack.parts import half as halve", "halve"),
        ("from pack import half", "half"),
        ("from pack import *", "half"),
    ],
)
def test_qualifiers_of_own_modules_go(carried, imported, used):
    found = carried(
        {
            "pack/__init__": "from .parts import half\nfrom pack import parts\n",
            "pack/parts": "def half(x):\n    return x / 2\n",
            "mine": f"{imported}\ndef root(x):\n    return f'{{{used}(x)}}'\n",
        }
    )
    assert "pack" not in text(found) and "parts" not in text(found)
    assert "{half(x)}" in text(found)
    assert not found.imports
    assert ran(found)["root"](3) == "1.5"


def test_an_own_import_inside_a_function_goes(carried):
    found = carried(
        {
            "mine": """
            def root(x):
                import math

                from helpers import half as halve

                return math.floor(halve(x))
            """,
            "helpers": "def half(x):\n    return x / 2\n",
        }
    )
    assert "helpers" not in text(found) and "import math" in text(found)
    assert ran(found)["root"](5) == 2


def test_a_name_that_a_local_would_capture_is_refused(carried):
    with pytest.raises(UserError) as refused:
        carried(
            {
                "mine": """
                import helpers

                def root(x):
                    half = x
                    return helpers.half(half)
                """,
                "helpers": "def half(x):\n    return x / 2\n",
            }
        )
    assert "helpers.half would be captured by the local name 'half'" in str(
        refused.value
    )
    assert "mine.py:6" in str(refused.value)


def test_what_a_module_does_when_it_is_imported_comes_along(carried):
    found = carried(
        {
            "mine": """
            import quiet
            import table

            def root():
                return table.KINDS["a"]

            if __name__ == "__main__":
                print(root())
            """,
            "table": """
            KINDS = {}
            KINDS["a"] = 1
            for name in "bc":
                KINDS[name] = 2
            """,
            "quiet": "import sys\nsys.was_here = True\nunused = 1\n",
        }
    )
    assert 'KINDS["a"] = 1' in text(found) and "for name in" in text(found)
    assert "sys.was_here = True" in text(found)
    assert "unused" not in text(found) and "__main__" not in text(found)
    assert ran(found)["root"]() == 1


def test_what_a_decorator_has_recorded_comes_along(carried):
    found = carried(
        {
            "mine": """
            import functools

            TABLE = {}

            def register(f):
                TABLE[f.__name__] = f
                return f

            @register
            def soft(x):
                return x * 2

            @functools.cache
            def unused():
                return 1

            def root(kind, x):
                return TABLE[kind](x)
            """
        }
    )
    assert "unused" not in text(found)
    assert ran(found)["root"]("soft", 2) == 4


def test_a_module_that_looks_at_its_own_names_comes_along_whole(carried):
    found = carried(
        {
            "mine": """
            import fiddle as fdl

            def one():
                return 1

            def root(name):
                return globals()[name]()

            def base():
                return fdl.Config(one)
            """
        }
    )
    assert "base" not in text(found)
    assert ran(found)["root"]("one") == 1


def test_functions_that_make_configs_stay_behind(carried):
    found = carried(
        {
            "mine": """
            import fiddle as fdl
            from fdlkit import ref

            def root(x):
                return x

            def base():
                return fdl.Config(root, x=ref("y"))

            def small():
                return base()

            CONFIGS = {"base": base}
            CONFIGS["small"] = small
            """
        }
    )
    assert text(found) == "def root(x):\n    return x"


def test_a_needed_function_that_makes_configs_is_refused(carried):
    with pytest.raises(UserError) as refused:
        carried(
            {
                "mine": """
                import fiddle as fdl

                def helper(x):
                    return fdl.build(x)

                def root(x):
                    return helper(x)
                """
            }
        )
    assert "the experiment needs root, which makes configs" in str(refused.value)
    assert "mine.py:5 uses fdl.build" in str(refused.value)


def test_of_two_definitions_of_one_name_one_has_another_and_its_own_back(carried):
    found = carried(
        {
            "mine": """
            import other

            class Layer:
                def name(self):
                    return other.Layer.__name__

            def helper():
                return 1

            def root():
                return Layer(), other.Layer(), helper(), other.helper()
            """,
            "other": """
            class Layer:
                def copy(self):
                    return Layer()

            def helper():
                return 2

            def unused():
                return Layer().copy()
            """,
        },
        attributes=["copy", "name"],
    )
    mine, other, one, two = ran(found)["root"]()
    assert type(mine) is not type(other)
    assert type(mine).__name__ == type(other).__name__ == "Layer"
    assert type(other).__qualname__ == "Layer" and type(other.copy()) is type(other)
    assert (one, two, mine.name()) == (1, 2, "Layer")


def test_a_compiled_function_keeps_its_name_in_the_program(carried):
    found = carried(
        {
            "mine": """
            import jax
            import other

            def helper(x):
                return x

            def root(x):
                return helper(other.helper(x))
            """,
            "other": """
            import jax

            @jax.jit
            def helper(x):
                return x * 2
            """,
        }
    )
    import jax

    program = jax.jit(ran(found)["root"]).lower(1.0).as_text()
    assert "call @helper(" in program


def test_an_import_makes_way_for_a_definition_of_its_name(carried):
    found = carried(
        {
            "mine": """
            import helpers

            def dumps(x):
                return "mine"

            def root(x):
                return dumps(x) + helpers.shown(x)
            """,
            "helpers": """
            from json import dumps

            def shown(x):
                return dumps(x)
            """,
        }
    )
    assert ran(found)["root"](None) == "minenull"


def test_a_name_that_is_bound_several_times_keeps_all_of_them(carried):
    found = carried(
        {
            "mine": """
            SIZE = 2
            SIZE += 1
            A, B = 1, 2

            try:
                import no_such_module as there
            except ImportError:
                there = None

            def root():
                return SIZE, A, there
            """
        }
    )
    assert ran(found)["root"]() == (3, 1, None)


def test_locals_are_not_taken_for_what_the_module_defines(carried):
    found = carried(
        {
            "mine": """
            def a(): ...
            def b(): ...
            def c(): ...
            def d(): ...
            def e(): ...

            class Root:
                a: int = 1

                def f(self, b, *, c=None):
                    for d in [a for a in range(3)]:
                        pass
                    with open(b) as e:
                        return lambda a: (a, b, c, d, e)

            def root():
                return Root().f
            """
        }
    )
    assert "def a" not in text(found) and "def e" not in text(found)


def test_shapes_in_annotations_become_comments(carried):
    found = carried(
        {
            "mine": """
            import dataclasses
            import numpy as np
            from jaxtyping import Array, Float, Int

            @dataclasses.dataclass
            class Batch:
                tokens: Int[np.ndarray, "batch time"]

            def root(
                x: Float[Array, "batch time"], n: int, y: Float[Array, ""] | None = None
            ) -> tuple[Float[Array, "time"], Batch]:
                '''Sums.'''
                # Of each column.
                return x.sum(0), Batch(x)
            """
        }
    )
    assert "tokens: np.ndarray  # Int[batch time]" in text(found)
    assert "x: jax.Array, n: int, y: jax.Array | None = None" in text(found)
    assert (
        "-> tuple[jax.Array, Batch]:\n    '''Sums.'''\n    # x: Float[batch time], "
        in (text(found))
    )
    assert "returns: Float[time]\n    # Of each column." in text(found)
    modules = {one.module for one, _ in found.imports}
    assert modules == {"dataclasses", "jax", "numpy"}


def test_a_module_that_asks_where_it_lies_is_refused(carried):
    with pytest.raises(UserError, match="uses __file__, which means another file"):
        carried({"mine": "HERE = __file__\ndef root():\n    return HERE\n"})


def test_what_has_no_source_is_refused(carried, tmp_path):
    with pytest.raises(UserError, match="uses the module helpers itself"):
        carried(
            {
                "mine": "import helpers\ndef root():\n    return helpers\n",
                "helpers": "A = 1\n",
            }
        )


def test_a_module_may_come_from_a_folder_that_is_no_package(tmp_path, monkeypatch):
    folder = tmp_path / "plain_folder"
    folder.mkdir()
    (folder / "one.py").write_text("from plain_folder import two\n")
    (folder / "two.py").write_text("X = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("plain_folder.one")
    found = Homes().find("plain_folder.one", "two")
    assert found == OwnModule("plain_folder.two")
