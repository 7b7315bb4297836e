"""Key paths: what they lead to, what is meant by those that lead nowhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from fdlkit import keys
from fdlkit.errors import UserError
from fdlkit.keys import DeadKeyError, Key, get_key, keys_of, resolve_keys


class Box(NamedTuple):
    """A named tuple in a context."""

    pos: Any
    neg: Any


@dataclasses.dataclass(frozen=True)
class Heads:
    """A dataclass in a context."""

    logits: Any
    value: Any = None


def array(*shape):
    return np.zeros(shape, np.float32)


LAYER = {"__call__": (array(4, 8),)}
CONTEXT = {
    "batch": {"image": array(4, 8), "labels": array(4), "mask": array(4)},
    "preds": {
        "logits": array(4, 10),
        "aux": [Box(array(4), array(4)), Box(array(4), array(4))],
        "heads": Heads(logits=array(4, 3)),
        "a b": array(4),
    },
    "params": {
        "encoder": {
            "Dense_0": {"kernel": array(8, 8), "bias": array(8)},
            "Dense_1": {"kernel": array(8, 8), "bias": array(8)},
        },
        "decoder": {"kernel": array(8, 10)},
    },
    "interms": {"encoder": {**LAYER, "attention": LAYER, "mlp": LAYER}},
    "losses": {"xent": array(4), "penalty": array(4)},
    "step": np.int32(3),
}

# What was typed, and what was meant.
MISSPELT = {
    # a misspelt last part
    "batch.images": "batch.image",
    "batch.lables": "batch.labels",
    "batch.label": "batch.labels",
    "preds.logit": "preds.logits",
    "preds.Logits": "preds.logits",
    "params.encoder.Dense_0.kernal": "params.encoder.Dense_0.kernel",
    "losses.xnet": "losses.xent",
    "steps": "step",
    # a misspelt part before others
    "pred.logits": "preds.logits",
    "btach.image": "batch.image",
    "loss.xent": "losses.xent",
    "params.encoder.dense_0.kernel": "params.encoder.Dense_0.kernel",
    "interms.encoder.attn.__call__[0]": "interms.encoder.attention.__call__[0]",
    "interm.encoder.mpl.__call__[0]": "interms.encoder.mlp.__call__[0]",
    # another root
    "outputs.logits": "preds.logits",
    "model.encoder.Dense_1.bias": "params.encoder.Dense_1.bias",
    "inputs.image": "batch.image",
    # a level that was forgotten
    "logits": "preds.logits",
    "labels": "batch.labels",
    "image": "batch.image",
    "params.Dense_1.bias": "params.encoder.Dense_1.bias",
    "preds.aux.pos": "preds.aux[0].pos",
    "interms.mlp.__call__[0]": "interms.encoder.mlp.__call__[0]",
    "interms.encoder[0]": "interms.encoder.__call__[0]",
    "encoder.attention.__call__[0]": "interms.encoder.attention.__call__[0]",
    # one too many
    "preds.logits.value": "preds.logits",
    "batch.labels[0]": "batch.labels",
    "batch.data.image": "batch.image",
    # in another order
    "logits.preds": "preds.logits",
    "params.Dense_0.encoder.bias": "params.encoder.Dense_0.bias",
    # an index that is not there
    "preds.aux[2].pos": "preds.aux[1].pos",
    "preds.aux[-3].neg": "preds.aux[0].neg",
    # written as other paths are
    "preds/logits": "preds.logits",
    "preds.aux.1.neg": "preds.aux[1].neg",
    # two faults at once
    "pred.aux[1].pso": "preds.aux[1].pos",
    "losess.penalties": "losses.penalty",
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batch.image", CONTEXT["batch"]["image"]),
        ("preds.aux[0].pos", CONTEXT["preds"]["aux"][0].pos),
        ("preds.aux[-1].neg", CONTEXT["preds"]["aux"][1].neg),
        ("preds.aux[1][0]", CONTEXT["preds"]["aux"][1].pos),
        ("preds.heads.logits", CONTEXT["preds"]["heads"].logits),
        ("preds['a b']", CONTEXT["preds"]["a b"]),
        ('preds["a b"]', CONTEXT["preds"]["a b"]),
        ("['batch']['mask']", CONTEXT["batch"]["mask"]),
        ("interms.encoder.__call__[0]", LAYER["__call__"][0]),
        ("losses", CONTEXT["losses"]),
    ],
)
def test_a_key_path_leads_through_mappings_sequences_tuples_and_dataclasses(key, value):
    assert get_key(CONTEXT, key) is value


@pytest.mark.parametrize("typed", MISSPELT)
def test_what_was_meant_comes_first(typed):
    with pytest.raises(DeadKeyError) as caught:
        get_key(CONTEXT, typed, wanted_by="metrics['near'].logits")
    error = caught.value
    assert (error.meant, error.key) == (MISSPELT[typed], typed)
    assert error.lines[0].startswith("metrics['near'].logits")
    assert error.lines[1] == f"did you mean '{MISSPELT[typed]}'?"
    get_key(CONTEXT, error.meant)


@pytest.mark.parametrize("typed", ["zzz", "batch.zzz", "zzz.yyy[0]"])
def test_strangers_are_not_guessed(typed):
    with pytest.raises(DeadKeyError) as caught:
        get_key(CONTEXT, typed)
    assert caught.value.meant is None
    assert not any("did you mean" in line for line in caught.value.lines)


def test_what_is_there_at_the_level_that_failed_is_told():
    with pytest.raises(DeadKeyError) as caught:
        get_key(CONTEXT, "preds.aux[1].poss", wanted_by="loss.labels")
    assert caught.value.lines == (
        "loss.labels='preds.aux[1].poss' leads nowhere: no 'poss' at preds.aux[1]",
        "did you mean 'preds.aux[1].pos'?",
        "available at preds.aux[1]: pos, neg",
    )
    assert caught.value.there == ("pos", "neg")


def test_a_root_that_is_there_for_others_is_not_taken_for_another():
    with pytest.raises(DeadKeyError) as caught:
        get_key(CONTEXT, "grads.encoder", wanted_by="metrics['size'].tree")
    assert caught.value.meant is None
    assert caught.value.lines[1:] == (
        "grads is there for train_metrics alone",
        "available at the context: batch, preds, params, interms, losses, step",
    )


def test_where_an_array_is_a_key_path_ends():
    with pytest.raises(DeadKeyError) as caught:
        get_key({"preds": array(4, 3)}, "preds.logits", wanted_by="loss.logits")
    assert caught.value.lines[1:] == (
        "did you mean 'preds'?",
        "available at preds: nothing below it, it is float32[4, 3]",
    )


@pytest.mark.parametrize("text", ["", "batch.", ".batch", "batch..image", "a b", "[x]"])
def test_a_text_that_is_no_key_path_is_told_so(text):
    with pytest.raises(DeadKeyError, match="is not a key path") as caught:
        get_key(CONTEXT, text, wanted_by="loss.labels")
    assert caught.value.lines[-1].startswith("a key path looks like batch.tokens")


def test_a_key_that_is_no_text_is_told_what_it_is():
    with pytest.raises(DeadKeyError) as caught:
        get_key(CONTEXT, 3, wanted_by="loss.labels")
    assert caught.value.lines[0] == "loss.labels=3 is no key path but int"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """A part that reads two places, and perhaps a third."""

    scores: Key
    signs: Key = "batch.labels"
    mask: Key | None = None
    name: str = "batch.image"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Holder(Part):
    """A part that holds others."""

    inner: Part
    more: Mapping[str, Part] = dataclasses.field(default_factory=dict)
    rest: tuple[Part, ...] = ()


def test_a_part_is_given_what_its_keys_lead_to():
    part = Part(scores="preds.logits")
    read = resolve_keys(part, CONTEXT, "loss")
    assert set(read) == {"scores", "signs"}
    assert read["scores"] is CONTEXT["preds"]["logits"]
    masked = dataclasses.replace(part, mask="batch.mask")
    assert resolve_keys(masked, CONTEXT, "")["mask"] is CONTEXT["batch"]["mask"]


def test_the_keys_of_parts_inside_parts_are_found_without_a_look_up():
    inner = Part(scores="a")
    holder = Holder(
        scores="b", inner=inner, more={"x y": Part(scores="c")}, rest=(inner, inner)
    )
    assert keys_of({"near": holder}, "metrics") == {
        "metrics['near'].scores": "b",
        "metrics['near'].signs": "batch.labels",
        "metrics['near'].inner.scores": "a",
        "metrics['near'].inner.signs": "batch.labels",
        "metrics['near'].more['x y'].scores": "c",
        "metrics['near'].more['x y'].signs": "batch.labels",
    }


def test_a_key_is_known_by_its_annotation_however_it_is_written():
    class Local:
        """In no module's namespace."""

    @dataclasses.dataclass
    class Here:
        plain: Key
        qualified: keys.Key
        optional: keys.Key | None
        local: Local
        text: str

    assert keys.key_fields(Here) == ("plain", "qualified", "optional")


def test_a_subclass_may_make_a_key_something_else():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Constant(Part):
        signs: float = 1.0

    assert keys.key_fields(Constant) == ("scores", "mask")


def test_a_class_that_forgot_to_be_a_dataclass_is_told():
    class Forgot(Part):
        other: Key = "preds"

    with pytest.raises(UserError, match=r"Forgot\.other is a Key, but no field"):
        keys.key_fields(Forgot)
