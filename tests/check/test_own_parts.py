"""Losses and metrics of a person's own that give what none may: told where they are."""

from __future__ import annotations

import dataclasses

import fiddle as fdl
import jax.numpy as jnp
import numpy as np
import pytest

import fdlkit
from fdlkit.keys import Key
from fdlkit.train.evaluators import Evaluator
from fdlkit.train.losses import Loss
from fdlkit.train.metrics import MeanLoss, Metric
from tests.check.house import experiment

LEVELS = ["config", "shapes"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(Metric):
    """A state and a result of some kind."""

    kind: str
    preds: Key = "preds"

    def state(self, *, preds, mask):
        kinds = {
            "text": "x",
            "complex": jnp.sum(preds) + 1j,
            "none": {"a": jnp.sum(preds), "b": None},
            "int64": np.asarray([2**31]),
            "uint32": np.asarray([2**32 - 1], np.uint32),
        }
        return kinds.get(self.kind, jnp.sum(preds))

    def result(self, state):
        kinds = {"gives text": "1.5", "gives many": {"a": 1.0, "b": [2.0]}}
        if self.kind == "raises" or (self.kind == "needs rows" and not state):
            raise ZeroDivisionError
        if self.kind == "none of no rows":
            return None if not state else 1.0
        return kinds.get(self.kind, 0.0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Words(Loss):
    """No loss of anything."""

    preds: Key = "preds"

    def values(self, *, preds):
        return ["not", "any"]


def told(**changes):
    cfg = experiment(**changes)
    return [(f.code, f.path, f.text) for f in fdlkit.check(cfg, levels=LEVELS)]


@pytest.mark.parametrize("field", ["metrics", "train_metrics"])
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("text", "something of type str"),
        ("complex", "an array of complex64"),
        ("int64", "integers past 32 bits"),
        ("gives text", "`result` gives something of type str"),
        ("gives many", "`result` gives something of type dict of list"),
    ],
)
def test_a_metric_that_gives_something_else_is_told_by_its_own_place(kind, says, field):
    (found,) = told(**{field: {"mine": fdl.Config(Own, kind=kind)}})
    assert found[:2] == ("SH002", f"{field}['mine']")
    assert says in found[2]


def test_so_is_that_of_an_evaluator():
    metrics = {"mine": fdl.Config(Own, kind="text")}
    evaluator = fdl.Config(Evaluator, every=1, metrics=metrics)
    (found,) = told(evaluators={"other": evaluator})
    assert "evaluators['other'].metrics['mine']" in found[2]


@pytest.mark.parametrize(
    "kind", ["none", "uint32", "raises", "needs rows", "none of no rows"]
)
def test_what_may_be_is_let_pass(kind):
    assert told(metrics={"mine": fdl.Config(Own, kind=kind)}) == []


@pytest.mark.parametrize("name", ["", " ", "a\nb"])
@pytest.mark.parametrize("field", ["metrics", "train_metrics"])
def test_a_name_that_cannot_be_read_on_a_line_is_told(name, field):
    (found,) = told(**{field: {name: fdl.Config(MeanLoss)}})
    assert found[0] == "CF023"
    assert found[2].startswith(f"{field}[{name!r}]: a name has to be text")


def test_values_that_are_no_array_are_told_by_what_they_are():
    (found,) = told(loss=fdl.Config(Words))
    assert found[:2] == ("SH002", "loss")
    assert "`values` of Words gave something of type list" in found[2]
