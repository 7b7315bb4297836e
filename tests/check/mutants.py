"""Seeded changes to the shipped tiny experiments: some break them, some do not.

A mutant is a mesh for eight devices and one or two changes. Nothing here says which
are broken: that is what a real step is for.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from typing import Any

import fiddle as fdl
import jax.numpy as jnp

import fdlkit
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions
from fdlkit.sharding.layout import DEFAULT_RULES
from fdlkit.train.losses import SquaredError

Mutator = Callable[[Any, random.Random], str]

# Eight devices each; `data=-1` alone is what is shipped.
MESHES = (
    {"data": 8},
    {"fsdp": 8},
    {"data": 2, "fsdp": 2, "tensor": 2},
    {"data": 4, "tensor": 2},
    {"fsdp": 4, "context": 2},
    {"data": 2, "tensor": 2, "context": 2},
    {},
)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A changed experiment.

    Attributes:
      name: What was changed.
      config: The experiment.
    """

    name: str
    config: Any


def tied_tiny() -> Any:
    """`lm.py:tied` at the size of `tiny`."""
    cfg = fdlkit.load("experiments/lm.py:tiny")
    cfg.model.output = cfg.model.embed
    return cfg


def bfloat16_tiny() -> Any:
    """`tiny` under the fiddler `bfloat16`."""
    cfg = fdlkit.load("experiments/lm.py:tiny")
    block = cfg.model.layers.block
    for part in (block.attention, block.mlp, cfg.model.embed, cfg.model.output):
        part.dtype = jnp.bfloat16
    return cfg


def tiny() -> Any:
    return fdlkit.load("experiments/lm.py:tiny")


EXPERIMENTS = (tiny, tied_tiny, bfloat16_tiny)


def on_mesh(cfg: Any, sizes: dict[str, int]) -> None:
    if sizes:
        cfg.mesh.ici.data = 1
    for axis, size in sizes.items():
        setattr(cfg.mesh.ici, axis, size)


# Each changes a config in place and says what it did.


def heads(cfg: Any, rng: random.Random) -> str:
    count = rng.choice((1, 2, 3, 4, 5, 7, 8, 16))
    cfg.model.layers.block.attention.num_heads = count
    return f"num_heads={count}"


def heads_of_a_width(cfg: Any, rng: random.Random) -> str:
    count, width = rng.choice((1, 3, 4, 5, 6)), rng.choice((3, 4, 8))
    cfg.model.layers.block.attention.num_heads = count
    cfg.model.layers.block.attention.head_dim = width
    return f"num_heads={count}, head_dim={width}"


def kv_heads(cfg: Any, rng: random.Random) -> str:
    count = rng.choice((1, 2, 3, 4))
    cfg.model.layers.block.attention.num_heads = 4
    cfg.model.layers.block.attention.num_kv_heads = count
    return f"num_heads=4, num_kv_heads={count}"


def hidden(cfg: Any, rng: random.Random) -> str:
    width = rng.choice((20, 24, 31, 36, 37, 40, 44, 46))
    cfg.model.hidden = width
    return f"hidden={width}"


def mlp_width(cfg: Any, rng: random.Random) -> str:
    width = rng.choice((61, 64, 67, 96, 101, 102))
    cfg.model.layers.block.mlp.width = width
    return f"mlp.width={width}"


def mlp_features(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.mlp.features = 33
    return "mlp.features=33"


def vocabulary(cfg: Any, rng: random.Random) -> str:
    size = rng.choice((200, 251, 256, 257, 258, 264))
    cfg.model.vocab_size = size
    return f"vocab_size={size}"


def one_table_larger(cfg: Any, rng: random.Random) -> str:
    cfg.model.output.vocab_size = 260
    return "output.vocab_size=260"


def layers(cfg: Any, rng: random.Random) -> str:
    count = rng.choice((1, 3, 5))
    cfg.model.layers.n = count
    return f"layers.n={count}"


def length(cfg: Any, rng: random.Random) -> str:
    size = rng.choice((16, 24, 31, 33))
    for data in (cfg.train_data, cfg.eval_data):
        data.source.length = size
    return f"length={size}"


def train_batch(cfg: Any, rng: random.Random) -> str:
    size = rng.choice((1, 4, 7, 9, 12, 16, 24))
    cfg.train_data.batch_size = size
    return f"train_data.batch_size={size}"


def eval_batch(cfg: Any, rng: random.Random) -> str:
    size = rng.choice((10, 61, 64, 100, 250, 512))
    cfg.eval_data.batch_size = size
    return f"eval_data.batch_size={size}"


def zero_batch(cfg: Any, rng: random.Random) -> str:
    cfg.train_data.batch_size = 0
    return "train_data.batch_size=0"


def eval_remainder(cfg: Any, rng: random.Random) -> str:
    cfg.eval_data.remainder = rng.choice(("drop", "pad", "keep"))
    return f"eval_data.remainder={cfg.eval_data.remainder}"


def mesh_size(cfg: Any, rng: random.Random) -> str:
    axis = rng.choice(("data", "fsdp", "tensor", "context", "stage"))
    size = rng.choice((0, -2, 2, 3, 4, 5, 16, -1))
    setattr(cfg.mesh.ici, axis, size)
    return f"mesh.ici.{axis}={size}"


def slices(cfg: Any, rng: random.Random) -> str:
    axis = rng.choice(("data", "fsdp"))
    size = rng.choice((2, 3, 4))
    setattr(cfg.mesh.dcn, axis, size)
    return f"mesh.dcn.{axis}={size}"


def all_on_one_axis(cfg: Any, rng: random.Random) -> str:
    axis = rng.choice(("tensor", "context", "stage"))
    on_mesh(cfg, {"data": 1, "fsdp": 1, "tensor": 1, "context": 1, axis: 8})
    return f"mesh.ici.{axis}=8 alone"


def rules_of(cfg: Any) -> list[Any]:
    return list(cfg.rules) if "rules" in cfg.__arguments__ else list(DEFAULT_RULES)


def dropped_rule(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    gone = rules.pop(rng.randrange(len(rules)))
    cfg.rules = tuple(rules)
    return f"no rule {gone}"


def misspelt_rule(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    at = rng.randrange(len(rules))
    logical, axes = rules[at]
    letters = list(logical)
    i = rng.randrange(len(letters) - 1)
    letters[i], letters[i + 1] = letters[i + 1], letters[i]
    rules[at] = ("".join(letters), axes)
    cfg.rules = tuple(rules)
    return f"rule {rules[at]}"


def wrong_mesh_axis(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    at = rng.randrange(len(rules))
    rules[at] = (rules[at][0], rng.choice(("fspd", "mdl", "model", "tensr", "data")))
    cfg.rules = tuple(rules)
    return f"rule {rules[at]}"


def mesh_axis_twice(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    at = rng.randrange(len(rules))
    axis = rng.choice(("data", "fsdp", "tensor"))
    rules[at] = (rules[at][0], (axis, axis))
    cfg.rules = tuple(rules)
    return f"rule {rules[at]}"


def other_rule(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    at = rng.randrange(len(rules))
    axis = rng.choice(("data", "fsdp", "tensor", "context", None))
    rules[at] = (rules[at][0], axis)
    cfg.rules = tuple(rules)
    return f"rule {rules[at]}"


def swapped_rules(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    rng.shuffle(rules)
    cfg.rules = tuple(rules)
    return "rules in another order"


def whole_rule(cfg: Any, rng: random.Random) -> str:
    rules = rules_of(cfg)
    at = rng.randrange(len(rules))
    rules[at] = rules[at][0]
    cfg.rules = tuple(rules)
    return f"rule {rules[at]!r} without axes"


def input_key(cfg: Any, rng: random.Random) -> str:
    key = rng.choice(
        ("batch.token", "tokens", "batch.labels", "batch.tokens[0]", "a b")
    )
    cfg.inputs = {"tokens": key}
    return f"inputs.tokens={key}"


def input_name(cfg: Any, rng: random.Random) -> str:
    name = rng.choice(("token", "x", "tokens_"))
    cfg.inputs = {name: "batch.tokens"}
    return f"inputs.{name}"


def more_inputs(cfg: Any, rng: random.Random) -> str:
    name = rng.choice(("segment_ids", "positions", "mask"))
    key = rng.choice(("batch.tokens", "batch.segment_ids"))
    cfg.inputs = {"tokens": "batch.tokens", name: key}
    return f"inputs.{name}={key}"


def loss_key(cfg: Any, rng: random.Random) -> str:
    field = rng.choice(("logits", "labels"))
    key = rng.choice(("preds.logits", "batch.label", "batch.tokens", "preds", "labels"))
    setattr(cfg.loss, field, key)
    return f"loss.{field}={key}"


def metric_key(cfg: Any, rng: random.Random) -> str:
    key = rng.choice(("batch.label", "batch.tokens", "batch.mask", "losses"))
    cfg.metrics["bits_per_byte"].labels = key
    return f"metrics.labels={key}"


def other_loss(cfg: Any, rng: random.Random) -> str:
    cfg.loss = fdl.Config(SquaredError)
    return "loss=SquaredError"


def dtypes(cfg: Any, rng: random.Random) -> str:
    block = cfg.model.layers.block
    part = rng.choice((block.attention, block.mlp, cfg.model.embed, cfg.model.output))
    name = rng.choice(("dtype", "param_dtype"))
    setattr(part, name, rng.choice((jnp.bfloat16, jnp.float16)))
    return f"{name} of {part.__fn_or_cls__.__name__}"


def integer_dtype(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.mlp.param_dtype = jnp.int32
    return "mlp.param_dtype=int32"


def norm(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.norm = fdl.Partial(LayerNorm)
    return "block.norm=LayerNorm"


def positions(cfg: Any, rng: random.Random) -> str:
    rows = rng.choice((16, 32, 40))
    cfg.model.positions = fdl.Config(
        LearnedPositions, length=rows, features=cfg.model.hidden
    )
    return f"positions.length={rows}"


def remat(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.remat = rng.choice(("full", "dots_saveable", "dots_savable"))
    return f"remat={cfg.model.layers.remat}"


def unrolled(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.scan = False
    return "scan=False"


def gated(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.mlp.gated = True
    return "mlp.gated=True"


def activation(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.mlp.activation = rng.choice(("relu", "silu", "swish"))
    return f"mlp.activation={cfg.model.layers.block.mlp.activation}"


def dropout(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.dropout = 0.1
    return "dropout=0.1"


def run_length(cfg: Any, rng: random.Random) -> str:
    cfg.train_data.num_epochs = rng.choice((1, 2))
    cfg.num_train_steps = rng.choice((40, 100_000))
    return f"num_epochs={cfg.train_data.num_epochs}, steps={cfg.num_train_steps}"


def counts(cfg: Any, rng: random.Random) -> str:
    name = rng.choice(("log_every", "eval_every", "num_train_steps"))
    value = rng.choice((0, -1, 7))
    setattr(cfg, name, value)
    return f"{name}={value}"


def seeds(cfg: Any, rng: random.Random) -> str:
    cfg.seed = rng.choice((1, 2))
    cfg.train_data.seed = rng.choice((-1, 3))
    return f"seed={cfg.seed}, train_data.seed={cfg.train_data.seed}"


def no_metrics(cfg: Any, rng: random.Random) -> str:
    cfg.metrics = {}
    return "no metrics"


def missing_argument(cfg: Any, rng: random.Random) -> str:
    gone = rng.choice(("optimizer", "train_data", "num_train_steps"))
    if gone == "optimizer":
        cfg.learning_rate = None
    delattr(cfg, gone)
    return f"no {gone}"


def reference(cfg: Any, rng: random.Random) -> str:
    cfg.model.layers.block.mlp.width = fdlkit.ref("^hiden") * 4
    return "mlp.width=ref(^hiden)*4"


MUTATORS: tuple[Mutator, ...] = (
    *(heads, heads_of_a_width, kv_heads, hidden, mlp_width, mlp_features),
    *(vocabulary, one_table_larger, layers, length),
    *(train_batch, eval_batch, zero_batch, eval_remainder),
    *(mesh_size, slices, all_on_one_axis),
    *(dropped_rule, misspelt_rule, wrong_mesh_axis, mesh_axis_twice),
    *(other_rule, swapped_rules, whole_rule),
    *(input_key, input_name, more_inputs, loss_key, metric_key, other_loss),
    *(dtypes, integer_dtype, norm, positions, remat, unrolled, gated, activation),
    *(dropout, run_length, counts, seeds, no_metrics, missing_argument, reference),
)


def mutants(count: int, seed: int = 0) -> Iterator[Mutant]:
    """So many mutants, the same ones for the same seed; each mutator gets its turn."""
    rng = random.Random(seed)
    for number in range(count):
        experiment = EXPERIMENTS[number % len(EXPERIMENTS)]
        sizes = rng.choice(MESHES)
        cfg = experiment()
        on_mesh(cfg, sizes)
        chosen = [MUTATORS[number % len(MUTATORS)]]
        if rng.random() < 0.25:
            chosen.append(rng.choice(MUTATORS))
        said = []
        for mutate in chosen:
            try:
                said.append(mutate(cfg, rng))
            except AttributeError:  # the first one took away what this one changes
                continue
        mesh = ",".join(f"{a}={n}" for a, n in sizes.items()) or "shipped"
        text = "; ".join(said)
        yield Mutant(f"{number}: {experiment.__name__} on {mesh}: {text}", cfg)
