"""What a script carries in place of parts of the house does what they do."""

from __future__ import annotations

import dataclasses
import inspect
import io
import itertools
import json

import fiddle as fdl
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from etils import epath

import fdlkit
from fdlkit import eject, keys
from fdlkit.codegen.script import twins
from fdlkit.data import corpus, pipeline, token_file
from fdlkit.data.corpus import Document
from fdlkit.data.order import LARGEST_TABLE
from fdlkit.data.source import InMemory
from fdlkit.data.tokenizer import ByteTokenizer
from fdlkit.eject import keys as plain_keys
from fdlkit.eject.data import corpus as plain_corpus
from fdlkit.eject.data import pipeline as plain_pipeline
from fdlkit.eject.data import token_stream as plain_tokens
from fdlkit.eject.sharding.mesh import Mesh as PlainMesh
from fdlkit.eject.train import states as plain_states
from fdlkit.eject.train import trainer as plain_trainer
from fdlkit.eject.train.metrics_file import MetricsFile
from fdlkit.errors import UserError
from fdlkit.graph.build import build
from fdlkit.graph.snapshot import take
from fdlkit.nn.pipelining import Pipelining
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.targets.loading import load
from fdlkit.train import states
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.ema import Ema
from fdlkit.train.histograms import Bars
from fdlkit.train.loss_scale import DynamicLossScale
from fdlkit.train.metrics_of_classes import LabelCounts
from fdlkit.train.nonfinite import SkipNonfinite
from fdlkit.train.optimizers import by_path, frozen
from fdlkit.train.pgle import AutomaticPgle
from fdlkit.train.progress import LineProgress
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import Trainer
from fdlkit.train.writers import JsonLines
from tests.codegen.script.conftest import OUTSIDE

ROWS = {"x": np.arange(23), "y": np.arange(23.0) / 2}


def both(**arguments):
    source = InMemory(ROWS)
    return (
        pipeline.Pipeline(source=source, **arguments),
        plain_pipeline.Pipeline(source=source, **arguments),
    )


def same_batch(one, other):
    return one.keys() == other.keys() and all(
        one[n].dtype == other[n].dtype and np.array_equal(one[n], other[n]) for n in one
    )


@pytest.mark.parametrize("remainder", ["drop", "pad"])
@pytest.mark.parametrize("num_epochs", [1, 3, None])
@pytest.mark.parametrize("shuffle", [True, False])
def test_batches_are_the_same(shuffle, num_epochs, remainder):
    own, plain = both(
        batch_size=5,
        shuffle=shuffle,
        num_epochs=num_epochs,
        remainder=remainder,
        seed=7,
    )
    assert own.num_batches == plain.num_batches
    assert {n: str(s) for n, s in own.spec().items()} == {
        n: str(s) for n, s in plain.spec().items()
    }
    pairs = itertools.zip_longest(
        *(itertools.islice(p.batches(), 20) for p in (own, plain))
    )
    assert all(same_batch(*pair) for pair in pairs)


def test_either_iterator_goes_on_where_the_other_stood():
    own, plain = (p.batches() for p in both(batch_size=4))
    for _ in range(9):
        next(own)
    state = json.loads(json.dumps(own.get_state()))
    plain.set_state(state)
    assert plain.get_state() == state
    assert same_batch(next(own), next(plain))
    own.set_state(plain.get_state())
    assert same_batch(next(own), next(plain))


def test_a_state_of_other_data_is_refused():
    (_, one), (_, other) = both(batch_size=4), both(batch_size=4, seed=1)
    with pytest.raises(UserError, match="not what it was"):
        other.batches().set_state(one.batches().get_state())


def test_tokens_are_the_same():
    @dataclasses.dataclass(frozen=True)
    class Texts:
        def documents(self):
            yield Document(name="a", text=b"one")
            yield Document(name="\udc80", text="zwölf".encode())

    own = token_file.token_stream(Texts(), ByteTokenizer())
    plain = plain_tokens.token_stream(Texts(), ByteTokenizer())
    assert own.fingerprint == plain.fingerprint
    assert own.tokens.dtype == plain.tokens.dtype
    assert own.tokens.tolist() == plain.tokens.tolist()


@pytest.mark.parametrize("key", ["a", "a.b[1]", "a['c d'].e", "a.b[-1]", "f.start"])
def test_key_paths_lead_to_the_same(key):
    @dataclasses.dataclass
    class Span:
        start: int = 3

    context = {"a": {"b": [1, 2], "c d": {"e": 4}}, "f": Span()}
    assert keys.get_key(context, key, wanted_by="") == plain_keys.get_key(
        context, key, wanted_by=""
    )


def test_a_key_path_that_leads_nowhere_is_told():
    with pytest.raises(UserError, match="lbels' leads nowhere"):
        plain_keys.get_key({"batch": {}}, "batch.lbels", wanted_by="loss.labels")


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("split", ["train", "eval"])
def test_splits_are_the_same(split, fraction):
    names = [f"folder/{number}.py" for number in range(40)]
    try:
        own = corpus.files_of_split(names, split=split, eval_fraction=fraction)
    except UserError:
        own = []  # which a config does not come to
    found = plain_corpus.files_of_split(names, split=split, eval_fraction=fraction)
    assert found == own


def test_states_of_float32_are_packed_the_same():
    tree = {"b": np.float32(3.5), "a": {"c": np.arange(6, dtype=np.float32)}}
    tree = jax.tree.map(jnp.asarray, tree | {"d": np.ones((2, 3), np.float32)})
    own, plain = states.pack_states(tree), plain_states.pack_states(tree)
    assert own.values.tolist() == plain.values.tolist()
    leaves = [jax.tree.leaves(packed.unpack()) for packed in (own, plain)]
    for one, other in zip(*leaves, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


def test_meshes_are_the_same():
    assert PlainMesh().make() == Mesh().make()
    with pytest.raises(UserError, match="does not fit"):
        PlainMesh(ici=MeshAxes(data=64, tensor=64)).make()


def test_a_metrics_file_is_cut_back(tmp_path):
    path = epath.Path(tmp_path / "metrics.jsonl")
    path.write_text(
        '{"step": 1, "loss": 2.0}\n{"step": 1, "eval/a": 1}\n{"step": 2}\n{"st'
    )
    metrics = MetricsFile(path, 1)
    assert metrics.is_evaluated(1) and not metrics.is_evaluated(2)
    metrics.write(2, {"loss": float("nan")})
    metrics.close()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"step": 1, "loss": 2.0},
        {"step": 1, "eval/a": 1},
        {"step": 2, "loss": "nan"},
    ]


def test_histograms_are_summed_up_in_both_files_alike(tmp_path):
    bars = Bars(
        limits=[0.0, 1.0],
        counts=[1.0, 3.0],
        least=0.0,
        most=1.0,
        count=4.0,
        total=float("inf"),
        squares=1.0,
    )
    values = {"loss": 2, "train/grads": bars, "rate": float("nan")}
    plain = MetricsFile(epath.Path(tmp_path / "plain.jsonl"), 0)
    whole = JsonLines(name="whole.jsonl").open(epath.Path(tmp_path), 0)
    for file in (plain, whole):
        file.write(1, values)
        file.close()
    lines = [(tmp_path / f"{name}.jsonl").read_text() for name in ("plain", "whole")]
    assert lines[0] == lines[1]
    assert '"mean": "inf"' in lines[0]


def test_every_plain_form_takes_nothing_that_the_original_does_not():
    originals = {Trainer, pipeline.Pipeline, Mesh}
    plain = {plain_trainer.Trainer, plain_pipeline.Pipeline, PlainMesh}
    for original, twin in zip(
        *(sorted(group, key=lambda c: c.__name__) for group in (originals, plain)),
        strict=True,
    ):
        known = inspect.signature(original).parameters
        for name, parameter in inspect.signature(twin).parameters.items():
            default = known[name].default
            if "factory" not in repr(default) and name not in ("mesh",):
                assert parameter.default == default, name


@pytest.fixture(scope="module")
def line():
    """A line through points, which compiles at once."""
    cfg = load(f"{OUTSIDE / 'own_loss.py'}:base")
    cfg.num_train_steps, cfg.log_every, cfg.eval_every = 6, 2, 3
    cfg.checkpoints = CheckpointPolicy(every=4)
    return build(cfg)


def as_plain(trainer, **changes):
    """The same experiment in the plain forms."""

    def data(own):
        names = [f.name for f in dataclasses.fields(plain_pipeline.Pipeline)]
        return plain_pipeline.Pipeline(**{name: getattr(own, name) for name in names})

    names = [f.name for f in dataclasses.fields(plain_trainer.Trainer)]
    given = {name: getattr(trainer, name) for name in names}
    given |= {"train_data": data(trainer.train_data)}
    given |= {"eval_data": data(trainer.eval_data)}
    return plain_trainer.Trainer(**given | changes)


def test_a_plain_run_logs_what_a_run_logs_and_goes_on_from_it(line, tmp_path):
    def numbers(folder):
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        return [
            {n: v for n, v in json.loads(line).items() if "per_sec" not in n}
            for line in lines
        ]

    def progress():
        return LineProgress(stream=io.StringIO(), num_train_steps=6)

    own, plain, mixed = (tmp_path / name for name in ("own", "plain", "mixed"))
    line.train(own)
    result = as_plain(line).train(str(plain), stop=Stop(), progress=progress())
    assert result.finished and result.step == 6
    assert numbers(plain) == numbers(own)
    stopped = Stop()

    class StopsAtFour:
        def say(self, text):
            pass

        def update(self, step, values):
            if step == 4:
                stopped.request(15)

    half = as_plain(line).train(str(mixed), stop=stopped, progress=StopsAtFour())
    assert not half.finished and half.step == 4
    line.train(mixed)
    assert numbers(mixed) == numbers(own)
    again = as_plain(line).train(str(mixed), stop=Stop(), progress=progress())
    assert again.finished and numbers(mixed) == numbers(own)


RULES = {
    "microbatches": 2,
    "ema": Ema(decay=0.9),
    "loss_scale": DynamicLossScale(initial=2.0, interval=2),
    "skip_nonfinite": SkipNonfinite(),
}


def test_a_plain_run_makes_its_updates_by_the_same_rules(line, tmp_path):
    """And each goes on from the other's checkpoint."""
    whole = dataclasses.replace(line, **RULES)
    half = dataclasses.replace(whole, num_train_steps=4)
    told = io.StringIO()

    def plainly(trainer, folder):
        progress = LineProgress(stream=told, num_train_steps=trainer.num_train_steps)
        as_plain(trainer).train(str(folder), stop=Stop(), progress=progress)

    def numbers(folder):
        lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
        return [{n: v for n, v in x.items() if "per_sec" not in n} for x in lines]

    whole.train(tmp_path / "own")
    half.train(tmp_path / "one")
    plainly(whole, tmp_path / "one")
    plainly(half, tmp_path / "other")
    whole.train(tmp_path / "other")
    last = numbers(tmp_path / "own")[-2:]
    assert {"loss_scale", "skipped"} <= last[0].keys() | last[1].keys()
    assert numbers(tmp_path / "one")[-2:] == last
    assert numbers(tmp_path / "other")[-2:] == last


@pytest.mark.parametrize("rule", [*RULES, "frozen"])
def test_a_plain_update_stands_in_only_where_nothing_is_around_it(rule):
    assert "make_update" in chosen_for(lambda cfg: None)

    def change(cfg):
        if rule == "frozen":
            groups = {"embed/**": fdl.Config(frozen), "**": cfg.optimizer}
            cfg.optimizer = fdl.Config(by_path, groups=groups)
            cfg.learning_rate = None
        elif rule == "microbatches":
            cfg.microbatches = 2
        else:
            setattr(cfg, rule, fdl.Config(type(RULES[rule])))

    found = chosen_for(change)
    assert "Trainer" in found
    assert not {"make_update", "batch_gradient", "held"} & found.keys()


def chosen_for(change):
    cfg = load("experiments/lm.py:tiny")
    change(cfg)
    return twins.choose(take(cfg), build(cfg)).modules


def test_a_plain_form_stands_in_only_where_it_takes_all_that_is_set():
    assert "Pipeline" in chosen_for(lambda cfg: None)

    def transformed(cfg):
        cfg.train_data.transforms = [dict]

    def untransformed(cfg):
        cfg.train_data.transforms = ()

    def in_stages(cfg):
        stages = fdl.Config(Pipelining, num_stages=2, num_microbatches=2)
        cfg.model.layers.pipeline = stages

    assert "Pipelining" in chosen_for(untransformed)
    assert "Pipelining" not in chosen_for(in_stages)

    def across_slices(cfg):
        cfg.mesh.dcn.data = -1

    assert "BatchIterator" not in chosen_for(transformed)
    assert "BatchIterator" in chosen_for(untransformed)
    found = chosen_for(across_slices)
    assert "Mesh" not in found and "Pipeline" in found


def test_plain_states_stand_in_only_for_quotients_of_the_house():
    assert "Packed" in chosen_for(lambda cfg: None)

    def of_another_kind(cfg):
        cfg.metrics["labels"] = fdl.Config(LabelCounts, num_classes=256)

    def none_at_all(cfg):
        cfg.metrics = {}

    assert not {"Packed", "results"} & chosen_for(of_another_kind).keys()
    assert not {"Packed", "results"} & chosen_for(none_at_all).keys()


def test_what_is_optional_is_left_out_and_told():
    cfg = load("experiments/lm.py:tiny")
    left_out = twins.choose(take(cfg), build(cfg)).left_out
    assert left_out == ("writers (it logs to metrics.jsonl alone)",)
    cfg.writers = []
    assert not twins.choose(take(cfg), build(cfg)).left_out
    # It has a step scheduled otherwise, and changes nothing that is computed.
    cfg.pgle = fdl.Config(AutomaticPgle)
    chosen = twins.choose(take(cfg), build(cfg))
    assert chosen.left_out == ("pgle (XLA schedules its step by what it guesses)",)
    assert "Trainer" in chosen.modules


def test_a_plain_form_has_the_original_beside_it():
    homes = {
        "Trainer": "fdlkit.train.trainer",
        "Setup": "fdlkit.train.setup",
        "Pipeline": "fdlkit.data.pipeline",
    }
    found = twins.all_twins()
    assert homes.keys() <= found.keys()
    assert all(module.startswith(eject.__name__) for module in found.values())
    assert LARGEST_TABLE and fdlkit
