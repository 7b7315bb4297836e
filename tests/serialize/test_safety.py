"""A file from elsewhere imports nothing and calls nothing that was not allowed."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import subprocess
import sys

import hypothesis
import pytest
from hypothesis import strategies as st

from fdlkit.errors import UserError
from fdlkit.graph import names
from fdlkit.graph.model import Symbol
from fdlkit.serialize import allowed
from fdlkit.serialize.loading import loads
from fdlkit.serialize.reading import read
from fdlkit.serialize.writing import dumps
from tests.graph.configs import configs


def text(*nodes, root=None):
    root = {"node": len(nodes) - 1} if root is None else root
    return json.dumps({"schema": "fdlkit.config/1", "root": root, "nodes": list(nodes)})


def config(name, **arguments):
    return {"kind": "config", "callable": name, "arguments": arguments}


@pytest.mark.parametrize(
    "name",
    [
        "os:system", "posix:system", "subprocess:Popen", "builtins:eval",
        "builtins:exec", "builtins:open", "builtins:__import__", "shutil:rmtree",
        "importlib:import_module", "numpy.testing:runstring", "numpy:memmap",
        "numpy:save", "flax.io:rmtree", "jax:pure_callback", "pickle:loads",
        "optax:jax.pure_callback", "optax:chex", "fdlkit.errors:UserError",
        "fdlkit.nn:_private", "fdlkit.data._files:read", "fiddle:build",
        "optax._src.alias:adamw", "functools:partial",
    ],
)  # fmt: skip
def test_a_name_that_is_not_listed_is_refused_with_its_path(name):
    with pytest.raises(UserError) as refused:
        loads(
            text(
                config("builtins:dict", b=1),
                config("builtins:dict", x={"node": 0}, y={"symbol": name}),
            )
        )
    assert refused.value.lines[0] == "this JSON cannot be loaded"
    assert refused.value.lines[1].startswith(f"  y: {name} is not allowed")


def test_refused_modules_are_not_imported():
    adam = config("optax:adam", learning_rate={"symbol": "wave:open"})
    hostile = text(config("antigravity:fly", x=1), adam)
    program = (
        "import sys\n"
        "from fdlkit.errors import UserError\n"
        "from fdlkit.serialize.loading import loads\n"
        "from fdlkit.serialize.reading import read\n"
        f"text = {hostile!r}\n"
        "before = set(sys.modules)\n"
        "read(text)\n"
        "assert set(sys.modules) == before, set(sys.modules) - before\n"
        "try: loads(text)\n"
        "except UserError: pass\n"
        "assert not {'antigravity', 'wave'} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        check=True,
    )


def test_an_allowed_module_lends_no_name_that_it_imported():
    for name in ("tests.serialize.lender:system", "tests.serialize.lender:os.system"):
        with pytest.raises(UserError, match=r"not defined there|is no class"):
            loads(text(config(name)), allow=["tests.serialize.lender"])
    with pytest.raises(UserError, match="is a module"):
        loads(
            text(config("builtins:dict", x={"symbol": "tests.serialize.lender:os"})),
            allow=["tests.serialize.lender"],
        )
    made = loads(
        text(config("tests.serialize.lender:make")), allow=["tests.serialize.lender"]
    )
    assert made.__fn_or_cls__.__name__ == "make"


def test_allowing_a_module_does_not_allow_what_is_below_it():
    with pytest.raises(UserError, match="is not allowed"):
        loads(
            text(config("tests.serialize.lender:make")),
            allow=["tests", "tests.serialize"],
        )


def test_all_problems_are_reported_together_with_how_to_allow():
    with pytest.raises(UserError) as refused:
        loads(
            text(
                config("optax:adamm"),
                config("my.models:Net"),
                config("optax:adamw", learning_rat=1.0),
                config(
                    "builtins:dict",
                    a={"node": 0},
                    b={"node": 1},
                    c={"node": 2},
                    d={"dtype": "bfloat61"},
                ),
            )
        )
    assert refused.value.lines == (
        "this JSON cannot be loaded",
        "  d: no dtype 'bfloat61', did you mean 'bfloat16'?",
        "  a: optax:adamm is not allowed, did you mean 'optax:adam'?",
        "  b: my.models:Net is not allowed",
        "  c: optax.adamw has no parameter 'learning_rat', "
        "did you mean 'learning_rate'?",
        "where the code has changed since, change the names in the JSON: "
        "fdlkit show reads it as it is",
        "allow a module of your own with --allow=PKG.MOD: --allow=my.models",
    )


def listed(*elements):
    return {"kind": "list", "elements": list(elements)}


def called(**parts):
    return {"kind": "config", "callable": "a:b", "arguments": {}} | parts


def reference(**arguments):
    return {"kind": "reference", "arguments": arguments}


HERE = "tests.graph.configs"
HEAD = '{"schema": "fdlkit.config/1", '


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        "[" * 100_000,
        '{"schema": "fdlkit.config/2", "root": 1, "nodes": []}',
        HEAD + '"root": NaN, "nodes": []}',
        HEAD + '"root": 1, "root": 2, "nodes": []}',
        HEAD + '"root": 1}',
        text(root={"node": 0}),
        text(3),
        text({"kind": "lisp", "elements": []}),
        text({"kind": "custom", "elements": []}),
        text({"kind": "list"}),
        text(listed({"node": 0})),
        text(listed({"node": 1}), listed()),
        text(listed({"node": -1})),
        text(listed(), listed({"node": False})),
        text(listed({"symbol": "os.system"})),
        text(listed({"symbol": "os:"})),
        text(listed({"bytes": "!"})),
        text(listed({"float": "1"})),
        text(listed([1])),
        text({"kind": "config", "arguments": {}}),
        text(called(extra=1)),
        text(called(arguments=[])),
        text(called(tags=[["x"]])),
        text(called(tags=[[{}, []]])),
        text(called(type="a:b")),
        text(called(positional=[["x", 1]])),
        text(called(positional=[[0, 1], [0, 2]])),
        text({"kind": "dict", "items": [[1]]}),
        text({"kind": "dict", "items": [[[1], 2]]}),
        text({"kind": "dict", "items": [[1, 2], [1, 3]]}),
        text(listed(), {"kind": "set", "elements": [{"node": 0}]}),
        text(reference(path="a..b")),
        text(reference(path=3)),
        text(reference(operator="**", left=1, right=2)),
        text(reference(operator="+", left=1)),
    ],
)
def test_a_damaged_file_is_refused_in_words(damaged):
    with pytest.raises(UserError) as refused:
        read(damaged)
    assert refused.value.lines[0].startswith("this ")


def test_a_name_in_the_wrong_place_is_refused_and_not_called():
    as_tuple = {"kind": "namedtuple", "callable": "optax:adam", "arguments": {}}
    as_type = called(callable="builtins:dict", kind="buildable", type="builtins:dict")
    fields = {"kind": "namedtuple", "callable": f"{HERE}:Pair", "arguments": {"x": 1}}
    tagged = called(callable="builtins:dict", tags=[["x", ["builtins:dict"]]])
    for node, said in [
        (as_tuple, "<root>: optax.adam is no NamedTuple"),
        (as_type, "<root>: builtins.dict is no kind of Buildable"),
        (fields, f"<root>: {HERE}.Pair has no field 'x', it has left, right"),
        (tagged, "x: builtins.dict is no tag"),
    ]:
        with pytest.raises(UserError) as refused:
            loads(text(node), allow=[HERE])
        assert refused.value.lines[1] == f"  {said}"


@pytest.mark.parametrize("module", sorted(allowed.NAMES))
def test_every_listed_name_is_there_and_is_what_dumps_writes(module):
    importlib.import_module(module)
    for qualname in allowed.NAMES[module]:
        found = names.reach(module, qualname)
        assert names.find(found) == Symbol(module, qualname), qualname


def places(data):
    """Every place in JSON data: what holds it, and under which key."""
    found, todo = [], [data]
    while todo:
        value = todo.pop()
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            if isinstance(value[key], dict | list):
                todo.append(value[key])
    return found


ODD = [
    None, True, -1, 10**30, 1.5, "", "x", "os:system", "builtins:dict", "a.b:c", [], {},
    [1], {"node": 0}, {"node": 99}, {"symbol": "os:system"}, {"symbol": "jax.nn:relu"},
    {"tuple": [1]}, {"value": "builtins:range", "positional": [3]}, {"float": "nan"},
    {"value": "functools:partial", "positional": [{"symbol": "builtins:dict"}]},
    {"array": "numpy", "dtype": "int8", "shape": [1], "data": "AA=="},
]  # fmt: skip


@hypothesis.given(st.data())
def test_whatever_is_damaged_is_read_or_refused_in_words(data):
    whole = json.loads(dumps(data.draw(configs())))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(whole)))
        other, at = data.draw(st.sampled_from(places(whole)))
        odd = data.draw(st.sampled_from([*ODD, other[at]]))
        # A copy: what is put in may be damaged itself, next time.
        holder[key] = copy.deepcopy(odd)
    with contextlib.suppress(UserError):
        dumps(read(json.dumps(whole)))
    with contextlib.suppress(UserError):
        dumps(loads(json.dumps(whole), allow=[HERE, "tests.graph.values"]))
