"""The suggestion engine names what was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fdlkit import suggest

FIELDS = [
    "vocab_size",
    "hidden",
    "layers",
    "embed",
    "output",
    "num_heads",
    "num_kv_heads",
    "head_dim",
    "width",
    "dropout",
    "rope_theta",
    "activation",
    "dtype",
    "param_dtype",
    "norm",
    "remat",
    "scan",
]
TRAINER = [
    "model",
    "train_data",
    "eval_data",
    "optimizer",
    "loss",
    "mesh",
    "rules",
    "num_train_steps",
    "log_every",
    "eval_every",
    "checkpoints",
    "seed",
]
VERBS = [
    "show",
    "diff",
    "check",
    "codegen",
    "train",
    "data",
    "sample",
    "sweep",
    "runs",
    "rerun",
    "golden",
]
FLAGS = [
    "fdl_set",
    "fdl_tag",
    "fdl_fiddler",
    "format",
    "out",
    "depth",
    "color",
    "traceback",
    "dry_run",
]
CONFIGS = ["base", "tiny", "tied", "bfloat16"]
OPTAX = [
    "adam",
    "adamw",
    "adamax",
    "sgd",
    "lion",
    "rmsprop",
    "adagrad",
    "adafactor",
    "lamb",
]
DTYPES = ["bfloat16", "float16", "float32", "float64", "int8", "int32"]
AXES = ["data", "fsdp", "tensor", "context", "stage"]
LOGICAL = ["embed", "mlp", "heads", "head_dim", "vocab", "layers", "batch", "time"]

GOLDEN = [
    ("hiden", FIELDS, "hidden"),
    ("hiddne", FIELDS, "hidden"),
    ("hidddn", FIELDS, "hidden"),
    ("Hidden", FIELDS, "hidden"),
    ("numheads", FIELDS, "num_heads"),
    ("num_head", FIELDS, "num_heads"),
    ("kv_heads", FIELDS, "num_kv_heads"),
    ("drpout", FIELDS, "dropout"),
    ("paramdtype", FIELDS, "param_dtype"),
    ("vocab", FIELDS, "vocab_size"),
    ("vocabsize", FIELDS, "vocab_size"),
    ("optimiser", TRAINER, "optimizer"),
    ("opt", TRAINER, "optimizer"),
    ("num_steps", TRAINER, "num_train_steps"),
    ("num_trian_steps", TRAINER, "num_train_steps"),
    ("train", TRAINER, "train_data"),
    ("evalevery", TRAINER, "eval_every"),
    ("checkpoint", TRAINER, "checkpoints"),
    ("shwo", VERBS, "show"),
    ("trian", VERBS, "train"),
    ("dif", VERBS, "diff"),
    ("gloden", VERBS, "golden"),
    ("code-gen", VERBS, "codegen"),
    ("dry-rn", FLAGS, "dry_run"),
    ("fdlset", FLAGS, "fdl_set"),
    ("colour", FLAGS, "color"),
    ("bse", CONFIGS, "base"),
    ("teid", CONFIGS, "tied"),
    ("bf16", CONFIGS, "bfloat16"),
    ("adm", OPTAX, "adam"),
    ("Adam", OPTAX, "adam"),
    ("admaw", OPTAX, "adamw"),
    ("bfloat61", DTYPES, "bfloat16"),
    ("float23", DTYPES, "float32"),
    ("fspd", AXES, "fsdp"),
    ("tensro", AXES, "tensor"),
    ("head", LOGICAL, "heads"),
    ("lr", ["learning_rate", "layers", "log_rate_every"], "learning_rate"),
    ("preds.logit", ["preds.logits", "batch.tokens"], "preds.logits"),
    ("btach.tokens", ["preds.logits", "batch.tokens"], "batch.tokens"),
    ("RMSS", ["rms", "layer", "none"], "rms"),
]


@pytest.mark.parametrize(
    ("word", "candidates", "meant"), GOLDEN, ids=[row[0] for row in GOLDEN]
)
def test_a_misspelling_finds_what_was_meant(word, candidates, meant):
    assert suggest.nearest(word, candidates)[0] == meant


@pytest.mark.parametrize("word", ["xyz", "qqqqq", "", "transmogrify"])
def test_a_stranger_is_not_forced_on_anyone(word):
    assert suggest.nearest(word, FIELDS) == []
    assert suggest.hint(word, FIELDS) is None


def test_the_hint_is_a_question_that_quotes_the_name():
    assert suggest.hint("hiden", FIELDS) == "did you mean 'hidden'?"


def test_a_forgotten_nesting_is_found_in_the_whole_graph():
    paths = ["model", "model.hidden", "model.block.mlp.width", "seed", "data.hidden_x"]
    assert suggest.misplaced("hidden", paths)[0] == "model.hidden"
    assert suggest.misplaced("hiden", paths)[0] == "model.hidden"
    assert suggest.misplaced("mlp.wdth", paths) == ["model.block.mlp.width"]
    assert suggest.misplaced("nothing_like_it", paths) == []


def test_of_two_places_the_shallow_one_comes_first():
    paths = ["a.b.c.width", "a.width"]
    assert suggest.misplaced("width", paths) == ["a.width", "a.b.c.width"]


words = st.text("abcde_", min_size=1, max_size=8)


@given(words, st.lists(words, max_size=8), st.integers(1, 4))
def test_at_most_n_distinct_candidates_come_back(word, candidates, n):
    found = suggest.nearest(word, candidates, n)
    assert len(found) <= n
    assert len(set(found)) == len(found)
    assert set(found) <= set(candidates)


@given(words, st.lists(words, max_size=8))
def test_the_word_itself_is_the_likeliest(word, candidates):
    assert suggest.nearest(word, [*candidates, word])[0] == word
