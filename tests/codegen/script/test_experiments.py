"""The experiment's own function: values, references, sharing, names."""

from __future__ import annotations

import ast
import sys
import types

import fiddle as fdl
import flax.linen as nn
import optax
import pytest

from fdlkit import ref
from fdlkit.codegen.script import making
from fdlkit.errors import UserError
from fdlkit.targets.loading import load
from tests.codegen.script.conftest import OUTSIDE
from tests.codegen.script.outside.own_stack import Stack


def line():
    return load(f"{OUTSIDE / 'own_loss.py'}:base")


def body(cfg):
    """The text of the experiment's function, without its docstring."""
    text = making.script(cfg, making.Origin())
    tree = ast.parse(text)
    node = next(n for n in tree.body if getattr(n, "name", "") == "experiment")
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
    return "\n".join([lines[0], *lines[node.body[1].lineno - node.lineno :]])


def trainer_of(cfg):
    """What the script's own experiment makes."""
    module = types.ModuleType("script")
    sys.modules["script"] = module
    exec(making.script(cfg, making.Origin()), vars(module))
    return module.experiment


def test_references_to_references_are_one_expression():
    cfg = line()
    cfg.model = fdl.Config(
        Stack,
        width=ref("..num_train_steps") - (ref("log_every") + 2) * 3,
        layers=[fdl.Config(nn.Dense, features=ref("^width") // 1)],
    )
    cfg.log_every = 1
    text = body(cfg)
    assert "width = num_train_steps - (log_every + 2) * 3" in text or (
        "width=num_train_steps - (log_every + 2) * 3" in text
    )
    assert "(num_train_steps - (log_every + 2) * 3) // 1" in text


def test_steps_that_are_computed_can_still_be_given():
    cfg = line()
    cfg.num_train_steps = ref("log_every") * 4
    cfg.optimizer = fdl.Config(
        optax.adam, fdl.Config(optax.linear_schedule, 1.0, 0.0, ref("num_train_steps"))
    )
    text = body(cfg)
    assert "num_train_steps: int | None = None" in text
    assert (
        "    if num_train_steps is None:\n        num_train_steps = log_every * 4"
        in (text)
    )
    assert "transition_steps=num_train_steps" in text
    make = trainer_of(cfg)
    assert make().num_train_steps == 4 and make(num_train_steps=7).num_train_steps == 7


def test_a_default_that_is_referred_to_is_said():
    cfg = line()
    del cfg.log_every
    cfg.eval_every = ref("log_every") * 2
    text = body(cfg)
    assert "log_every = 100" in text and "log_every=log_every" in text
    assert "eval_every=log_every * 2" in text


def test_shared_nodes_and_lists_are_variables_named_by_their_role():
    cfg = line()
    dense = fdl.Config(nn.Dense, features=4)
    layers = [dense, fdl.Config(nn.Dense, features=5), dense]
    cfg.model = fdl.Config(Stack, width=4, layers=layers, extra=layers)
    text = body(cfg)
    assert "dense = nn.Dense(features=4)" in text
    assert "layers = [dense, nn.Dense(features=5), dense]" in text
    assert "layers=layers, extra=layers" in text


def test_calls_of_every_kind():
    cfg = line()
    cfg.optimizer = fdl.Config(
        optax.chain,
        fdl.Config(optax.clip, 1.0),
        fdl.Config(optax.scale_by_learning_rate, -0.1, flip_sign=False),
    )
    cfg.model = fdl.Config(
        Stack,
        width=2,
        layers=[],
        norm=fdl.Partial(nn.LayerNorm, epsilon=1e-3),
        extra={"a": (1,), 2: {3.5, None}, "f": nn.relu, "g": lambda x: x + 1},
    )
    text = body(cfg)
    assert "optax.clip(max_delta=1.0)" in text
    assert "functools.partial(nn.LayerNorm, epsilon=0.001)" in text
    for part in ('"a": (1,)', "2: {", '"f": ', "relu", '"g": lambda x: x + 1'):
        assert part in text


def test_a_name_of_the_script_is_not_taken_by_a_variable():
    cfg = line()
    main = fdl.Config(nn.Dense, features=1)
    cfg.model = fdl.Config(Stack, width=1, layers=[], norm=main, extra=main)
    cfg.model.layers = [main]
    names = {n.id for n in ast.walk(ast.parse(body(cfg))) if isinstance(n, ast.Name)}
    assert "norm" in names
    trainer_of(cfg)()


def test_what_makes_anew_at_each_call_is_refused_with_its_path():
    cfg = line()
    cfg.model = fdl.Config(
        Stack,
        width=1,
        layers=[],
        norm=fdl.Partial(nn.Dense, features=fdl.ArgFactory(int)),
    )
    with pytest.raises(UserError) as refused:
        body(cfg)
    assert "model.norm.features: an ArgFactory" in str(refused.value)


def test_deep_experiments_get_names_on_the_way():
    cfg = line()
    model = fdl.Config(nn.Dense, features=1)
    for _ in range(200):
        model = fdl.Config(Stack, width=1, layers=[model])
    cfg.model = model
    text = body(cfg)
    assert max(one.count("Stack(") for one in text.split(" = ")) <= 12
    trainer_of(cfg)()
