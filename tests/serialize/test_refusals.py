"""What JSON cannot keep is refused when it is written, place by place."""

from __future__ import annotations

import dataclasses
import enum
import functools
import io
import os
import subprocess
import sys
import threading
from typing import Any

import fiddle as fdl
import flax.linen as nn
import jax
import numpy as np
import optax
import pytest

from fdlkit.errors import UserError
from fdlkit.serialize.writing import dumps
from tests.graph.configs import Box, Norm
from tests.graph.values import Axes


def lines_of(config: Any) -> tuple[str, ...]:
    with pytest.raises(UserError) as refused:
        dumps(config)
    return refused.value.lines


def test_every_place_is_listed_with_what_to_write_there():
    def local():
        return 1

    config = fdl.Config(
        Box,
        a=[lambda: 1, nn.Dense(3)],
        b={"k": optax.adam(0.1).init, "ok": 1, ("t", Norm.RMS): 2},
        c=fdl.Config(local),
    )
    here = "test_every_place_is_listed_with_what_to_write_there"
    assert lines_of(config) == (
        "5 values of this config cannot be kept in JSON",
        "  a[0]: a lambda",
        "    write def NAME(...) at the top level of a module, and NAME here",
        "  a[1]: a Flax module (flax.linen.Dense)",
        "    write fdl.Config(flax.linen.Dense, features=3)",
        "  b['k']: init_fn, which is defined inside chain",
        "    write fdl.Config(optax.chain, ...), which makes it",
        "  b[('t', <Norm.RMS: 'rms'>)]: <Norm.RMS: 'rms'> (a Norm)",
        "    write fdl.Config(tests.graph.configs.Norm, ...), or numbers and text",
        f"  c: local, which is defined inside {here}",
        "    move def local to the top level of a module",
    )


class Local(enum.Enum):
    """What this class is at the top level, the one in `local_things` is not."""

    A = 1


def local_things() -> dict[str, Any]:
    @dataclasses.dataclass
    class Inner:
        x: int = 1

    class Mode(enum.Enum):
        A = 1

    return {"value": Inner(), "class": Inner, "member": Mode.A}


def closure(rate):
    def schedule(step):
        return rate * step

    return schedule


@pytest.mark.parametrize(
    ("value", "what", "instead"),
    [
        (lambda: 1, "a lambda", "write def NAME(...) at the top level"),
        (
            closure(1),
            "schedule, which is defined inside closure",
            "move def schedule to the top level of a module, or write "
            f"fdl.Config({__name__}.closure, ...) if that returns it",
        ),
        (
            optax.constant_schedule(0.1),
            "a lambda",
            "write fdl.Config(optax.constant_schedule, ...), which makes it",
        ),
        (
            nn.initializers.lecun_normal(),
            "init, which is defined inside variance_scaling",
            "write fdl.Config(jax.nn.initializers.variance_scaling, ...)",
        ),
        (jax.jit(lambda x: x), "a lambda", "write def NAME(...)"),
        (
            local_things()["class"],
            "Inner, which is defined inside local_things",
            "move class Inner to the top level of a module",
        ),
        (local_things()["value"], "", "move class Inner to the top level of a module"),
        (
            local_things()["member"],
            "Mode, which is defined inside local_things",
            "move class Mode to the top level of a module",
        ),
        (io.StringIO("x"), "<_io.StringIO", "write the file's path"),
        (iter([1]), "<list_iterator", "write a list or a tuple"),
        (os, "<module 'os'", "write a function or class of os, or its name as text"),
        (threading.Lock(), "<unlocked", "fdl.Config("),
        (np.zeros(65), "an array of 65 elements", "write fdl.Config(FUNCTION, ...)"),
        (
            np.array([None]),
            "array([None]",
            "write numbers, a plain array of at most 64",
        ),
        (np.array(["x" * 5000]), "array(['x", "write numbers, a plain array"),
        (jax.random.key(0), "Array((), dtype=key", "(of a random key: the seed)"),
        ({}.get, "a bound method of a dict", "write fdl.Config(builtins.dict, ...)"),
        (
            functools.partial(nn.gelu, lambda: 1),
            "functools.partial(<",
            "write def NAME(...)",
        ),
        (Axes(more=[1, {"k": io.StringIO()}]), "Axes(", "write the file's path"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else type(value).__name__,
)
def test_a_value_is_told_with_what_to_write(value: Any, what: str, instead: str):
    first, second, third = lines_of({"x": [value]})
    assert first == "a value of this config cannot be kept in JSON"
    assert second.startswith(f"  ['x'][0]: {what}")
    assert third.startswith("    ") and instead in third


def test_it_is_said_where_in_a_value_the_trouble_is():
    inner = Axes(more=[1, {"k": closure(2)}])
    (_, line, _) = lines_of(functools.partial(dict, 1, k=inner))
    assert ", which holds <function closure.<locals>.schedule at 0x" in line
    assert line.endswith(" at .keywords['k'].more[1][0][1]")


def test_a_value_that_contains_itself_or_is_huge_is_refused():
    endless: list[Any] = []
    endless.append(endless)
    many = Axes(names=tuple(range(5000)))
    for value in (Axes(more=endless), many):
        assert lines_of([value])[1].startswith("  [0]: Axes(")


@pytest.mark.parametrize("attribute", ["note", "__wrapped__"])
def test_what_a_partial_would_lose_is_not_lost(attribute):
    partial = functools.partial(dict)
    setattr(partial, attribute, 3)
    assert lines_of([partial])[1].startswith("  [0]: functools.partial(")


def test_a_dataclass_that_holds_more_than_its_fields_is_refused():
    more = Axes()
    object.__setattr__(more, "cache", {})
    assert lines_of([more])[1].startswith("  [0]: Axes(")


def test_what_only_the_running_program_has_is_refused():
    program = (
        "import dataclasses\n"
        "import fiddle as fdl\n"
        "from fdlkit.errors import UserError\n"
        "from fdlkit.serialize.writing import dumps\n"
        "def make(): pass\n"
        "@dataclasses.dataclass\n"
        "class Value: x: int = 1\n"
        "try: dumps([fdl.Config(make), Value()])\n"
        "except UserError as refused: print(*refused.lines[1:], sep='\\n')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    why = (
        "    a notebook or an interactive session; move it into a .py file and import "
        "it from there"
    )
    assert ran.stdout.splitlines() == [
        "  [1]: Value, which only the running program has (__main__)",
        why,
        "  [0]: make, which only the running program has (__main__)",
        why,
    ]


@pytest.mark.parametrize(
    "held",
    [10**4400, [10**4400], range(10**4400), {10**4400: 1}, {(1, 10**4400): 1}],
    ids=["alone", "in a list", "in a range", "a key", "in a key"],
)
def test_an_int_of_more_digits_than_are_written_out_is_refused(held):
    with pytest.raises(UserError, match="cannot be kept in JSON") as refused:
        dumps(fdl.Config(dict, a=held))
    assert "digits" in str(refused.value)
    assert dumps(fdl.Config(dict, a=10**4200))
