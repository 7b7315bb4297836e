"""Misspellings against the names that the program really has, in a golden table."""

from __future__ import annotations

import ast
import importlib
import pathlib

import pytest

import fdlkit
from fdlkit import suggest

HOUSE = pathlib.Path(fdlkit.__file__).parent

# A shared node is known by the first path that leads to it.
SCHEDULE = "optimizer[1].learning_rate.peak_value"

# What is typed, among which names, and what was meant.
TYPED = [
    ("hiden", "fields of model", "hidden"),
    ("hidden_size", "fields of model", "hidden"),
    ("vocabsize", "fields of model", "vocab_size"),
    ("ouput", "fields of model", "output"),
    ("optimiser", "fields of trainer", "optimizer"),
    ("num_steps", "fields of trainer", "num_train_steps"),
    ("evalevery", "fields of trainer", "eval_every"),
    ("lr", "fields of trainer", "learning_rate"),
    ("traindata", "fields of trainer", "train_data"),
    ("checkpoint", "fields of trainer", "checkpoints"),
    ("batchsize", "fields of pipeline", "batch_size"),
    ("shufle", "fields of pipeline", "shuffle"),
    ("max_nrom", "fields of clip", "max_norm"),
    ("weight_deacy", "fields of adamw", "weight_decay"),
    ("dry-rn", "flags of train", "dry_run"),
    ("work-dir", "flags of train", "workdir"),
    ("num_process", "flags of train", "num_processes"),
    ("fesh", "flags of train", "fresh"),
    ("fdlset", "flags of show", "fdl_set"),
    ("fdl_fidler", "flags of show", "fdl_fiddler"),
    ("colour", "flags of show", "color"),
    ("formt", "flags of show", "format"),
    ("shwo", "verbs", "show"),
    ("trian", "verbs", "train"),
    ("dta", "verbs", "data"),
    ("bse", "configs", "base"),
    ("teid", "configs", "tied"),
    ("tinny", "configs", "tiny"),
    ("bf16", "fiddlers", "bfloat16"),
    ("bfloat61", "fiddlers", "bfloat16"),
    ("adm", "callables of optax", "adam"),
    ("AdamW", "callables of optax", "adamw"),
    ("sdg", "callables of optax", "sgd"),
    ("rms_prop", "callables of optax", "rmsprop"),
    ("warmup_cosine_schedule", "callables of optax", "warmup_cosine_decay_schedule"),
    ("clip_by_globl_norm", "callables of optax", "clip_by_global_norm"),
    ("LayrNorm", "callables of the norm's module", "LayerNorm"),
    ("RMSNorm", "callables of the norm's module", "RmsNorm"),
    ("Tensorboard", "callables of writers", "TensorBoard"),
    ("Jsonlines", "callables of writers", "JsonLines"),
    ("WeightDtype", "tags", "WeightDType"),
    ("Widht", "tags", "Width"),
    ("preds.logit", "key paths", "preds.logits"),
    ("btach.tokens", "key paths", "batch.tokens"),
    ("batch.lables", "key paths", "batch.labels"),
    ("fspd", "mesh axes", "fsdp"),
    ("tensro", "mesh axes", "tensor"),
    ("model", "mesh axes", None),
    ("head", "logical axes", "heads"),
    ("kvheads", "logical axes", "kv_heads"),
    ("vocabulary", "logical axes", "vocab"),
    ("bfloat61", "dtypes", "bfloat16"),
    ("flaot32", "dtypes", "float32"),
    ("trian", "splits", "train"),
    ("gleu", "activations", "gelu"),
    ("hidden", "paths of the experiment", "model.hidden"),
    ("num_heads", "paths of the experiment", "model.layers.block.attention.num_heads"),
    ("ici.fdsp", "paths of the experiment", "mesh.ici.fsdp"),
    ("peak_valeu", "paths of the experiment", SCHEDULE),
]


@pytest.fixture(scope="module")
def names() -> dict[str, list[str]]:
    """The names of each kind, asked of the program itself."""
    import fiddle as fdl

    from experiments import lm
    from fdlkit.cli import main
    from fdlkit.data.corpus import Split
    from fdlkit.graph import signatures
    from fdlkit.nn import mlp, norm
    from fdlkit.overrides import functions, places, scalars, symbols
    from fdlkit.sharding.layout import DEFAULT_RULES
    from fdlkit.sharding.mesh import MESH_AXES
    from fdlkit.train import writers

    cfg = lm.base()
    text = pathlib.Path(lm.__file__).read_text(encoding="utf-8")

    def fields(node: fdl.Buildable) -> list[str]:
        return list(signatures.parameters(fdl.get_callable(node)))

    def flags(verb: str) -> list[str]:
        parsed = importlib.import_module(f"fdlkit.cli.{verb}").flags()
        return parsed.names()

    return {
        "fields of model": fields(cfg.model),
        "fields of trainer": fields(cfg),
        "fields of pipeline": fields(cfg.train_data),
        "fields of clip": fields(cfg.optimizer[0]),
        "fields of adamw": fields(cfg.optimizer[1]),
        "flags of train": flags("train"),
        "flags of show": flags("show"),
        "verbs": [verb.name for verb in main.VERBS],
        "configs": functions.names(text, "config"),
        "fiddlers": functions.names(text, "fiddler"),
        "callables of optax": symbols.public_names(importlib.import_module("optax")),
        "callables of the norm's module": symbols.public_names(norm),
        "callables of writers": symbols.public_names(writers),
        "tags": ["WeightDType", "ActivationDType", "Width", "Dropout"],
        "key paths": ["batch.tokens", "batch.labels", "batch.weights", "preds.logits"],
        "mesh axes": list(MESH_AXES),
        "logical axes": [name for name, _ in DEFAULT_RULES],
        "dtypes": scalars.DTYPES,
        "splits": list(Split.__args__),
        "activations": list(mlp.Activation.__args__),
        "paths of the experiment": places.every_path(cfg),
    }


def first(word: str, kind: str, names: dict[str, list[str]]) -> str | None:
    look = suggest.misplaced if kind.startswith("paths") else suggest.nearest
    return next(iter(look(word, names[kind])), None)


def test_the_table_is_as_in_the_golden_file(names, golden):
    lines = [f"{'typed':<24}{'among':<36}{'suggested':<40}meant"]
    for word, kind, meant in TYPED:
        said = first(word, kind, names)
        right = "yes" if said == meant else f"no, {meant}"
        lines.append(f"{word:<24}{kind:<36}{said or 'nothing':<40}{right}")
    golden("suggest/table", "\n".join(lines) + "\n")


def test_of_twenty_misspellings_at_least_nineteen_find_what_was_meant(names):
    wrong = [row for row in TYPED if first(row[0], row[1], names) != row[2]]
    assert len(TYPED) >= 40
    assert len(wrong) <= len(TYPED) // 20, wrong


def test_every_kind_of_name_is_in_the_table(names):
    assert {kind for _, kind, _ in TYPED} == set(names)


def test_a_module_that_lists_what_there_is_asks_the_one_engine():
    lists = ("did you mean", "choices:", "is not one of", "splits:", "mesh axes:")
    silent = []
    for path in sorted(HOUSE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        says = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and any(words in node.value for words in lists)
            and not node.value.strip().endswith(".")  # a docstring
            and node.value not in lists  # what is looked for in another's message
            # What was likely meant was found already.
            and not node.value.startswith("did you mean ref('^")
        ]
        if says and "suggest" not in text and path.name != "suggest.py":
            silent.append(str(path.relative_to(HOUSE)))
    assert silent == []
