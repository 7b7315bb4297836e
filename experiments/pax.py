"""What the language models that Pax ships are made of, in this house's words.

`lm_cloud.py`, `c4.py` and `gpt3.py` put these parts together; each says its commands,
its figures, and where Pax's documents and Pax's code differ. Of the names, `replica`,
`data` and `mdl` of Pax's meshes are `data`, `fsdp` and `tensor` here, and batches are
given as Pax gives them: rows a device.

What is as in Pax's code: parameters, one by one, and what they start at; the order of
the optimizer's parts; the schedules; the layout of every array (its
`set_sharding_params_v1`). What is not:

- Norms, attention's softmax and logits are computed in float32, whatever the rest is
  computed in; Pax takes bfloat16 for all but the softmaxes.
- Query, key and value are three kernels, where Pax stores one array of three. The clip
  of updates so looks at each by itself.
- Rows are one document each. Pax packs several, and tells attention which is which.
- Vectors of `[embed]` (norms, biases) are cut over `fsdp`, where Pax has them whole,
  and learned positions over `fsdp` alone.
- The data is made up (`SyntheticTokens`): Pax's own is on Google's storage. Give
  `train_data` and `eval_data` another `source` to train on yours.
"""

from __future__ import annotations

import math
from typing import Any

import fiddle as fdl
import jax
import jax.numpy as jnp
import optax

from fdlkit import ref
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.synthetic import SyntheticTokens
from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.pipelining import Pipelining
from fdlkit.nn.positions import SinusoidalPositions
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from fdlkit.sharding.layout import DEFAULT_RULES
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.schedules import ramp_then_exponential
from fdlkit.train.trainer import Trainer
from fdlkit.train.update_clip import clip_by_layer_rms

# Weights are cut over `fsdp` and `tensor`, the batch over `data` and `fsdp`, and what
# is left of an activation over `tensor`: the residual stream too, which saves memory
# between the forward and the backward pass (Pax: `training_optimized`).
RULES = (*DEFAULT_RULES, ("embed", "tensor"))

# The same where `tensor` does not divide the vocabulary. Pax pads the table; here it
# is cut over `fsdp` alone, and every device along `tensor` has all logits of its rows.
WHOLE_VOCAB = tuple((axis, None if axis == "vocab" else over) for axis, over in RULES)


def decoder(
    *,
    vocab_size: int,
    hidden: int,
    num_layers: int,
    num_heads: int,
    head_dim: int,
    remat: str = "save_nothing",
    dtype: Any = jnp.bfloat16,
) -> fdl.Config[Transformer]:
    """The model of LmCloud and C4: pre-norm, tanh-GELU four times as wide, one table.

    Attention scores are capped at 50 and logits at 30, queries have a learned scale for
    each of a head's dims, positions are sines, logits have a bias, attention has none.
    """
    table = fdl.Config(
        Embed,
        vocab_size=ref("^vocab_size"),
        features=ref("^hidden"),
        init_scale=1.0,
        bias=True,
        logit_cap=30.0,
        dtype=dtype,
    )
    attention = fdl.Config(
        SelfAttention,
        features=ref("^hidden"),
        num_heads=num_heads,
        head_dim=head_dim,
        rotary=None,
        per_dim_scale=True,
        logit_cap=50.0,
        # Xavier as Pax counts the fans of `[3, embed, heads, head_dim]` and of
        # `[embed, heads, head_dim]`: the last two dims, times all before them.
        kernel_init=xavier(1 / 3),
        out_kernel_init=xavier(in_axis=0, out_axis=1),
        dtype=dtype,
    )
    mlp = fdl.Config(
        Mlp,
        features=ref("^hidden"),
        width=ref("^hidden") * 4,
        bias=True,
        kernel_init=xavier(),
        dtype=dtype,
    )
    return fdl.Config(
        Transformer,
        vocab_size=vocab_size,
        hidden=hidden,
        embed=table,
        output=table,
        positions=fdl.Config(SinusoidalPositions, features=ref("^hidden"), dtype=dtype),
        layers=fdl.Config(
            Repeat,
            block=fdl.Config(Block, attention=attention, mlp=mlp, norm=norm()),
            n=num_layers,
            remat=remat,
        ),
        norm=norm(),
    )


def xavier(scale: float = 1.0, **axes: int) -> fdl.Config:
    """Uniform, of variance `2 * scale / (fan_in + fan_out)` (Glorot, Bengio, 2010)."""
    return fdl.Config(
        jax.nn.initializers.variance_scaling,
        scale=scale,
        mode="fan_avg",
        distribution="uniform",
        **axes,
    )


def norm(epsilon: float = 1e-6) -> fdl.Partial[LayerNorm]:
    """Pax's LayerNorm: a scale that is stored less 1, and a bias."""
    return fdl.Partial(LayerNorm, epsilon=epsilon, bias=True, unit_offset=True)


def exponential(peak: float) -> fdl.Config[optax.Schedule]:
    """The rate of LmCloud and C4: up in 4,000 steps, down to a tenth at 300,000."""
    return fdl.Config(
        ramp_then_exponential,
        peak_value=peak,
        ramp_steps=4000,
        decay_start=4001,
        decay_end=300_000,
        floor=0.1,
    )


def adam(
    schedule: fdl.Config[optax.Schedule],
    *,
    b2: float = 0.99,
    eps: float = 1e-6,
    weight_decay: float = 1e-3,
    max_norm: float = 5.0,
    update_clip: float | None = 1.0,
) -> fdl.Config[optax.GradientTransformation]:
    """Pax's Adam, part by part: clip, moments, clip of updates, decay, rate.

    Decay is decoupled, multiplied by the rate, and of all parameters: what Pax does for
    `weight_decay`, though it logs that `decoupled_weight_decay` should be used.
    """
    parts = [
        fdl.Config(optax.clip_by_global_norm, max_norm=max_norm),
        fdl.Config(optax.scale_by_adam, b1=0.9, b2=b2, eps=eps),
    ]
    if update_clip is not None:
        parts.append(fdl.Config(clip_by_layer_rms, threshold=update_clip))
    parts += [
        fdl.Config(optax.add_decayed_weights, weight_decay=weight_decay),
        fdl.Config(optax.scale_by_learning_rate, learning_rate=schedule),
    ]
    return fdl.Config(optax.chain, *parts)


def experiment(
    model: fdl.Config[Transformer],
    optimizer: fdl.Config[optax.GradientTransformation],
    *,
    length: int,
    per_core_batch: float,
    ici: dict[str, int] | None = None,
    dcn: dict[str, int] | None = None,
    rules: Any = RULES,
    num_train_steps: int = 10_000_000,
    log_every: int = 100,
    eval_every: int = 100,
    save_every: int = 5000,
    keep: int = 10,
) -> fdl.Config[Trainer]:
    """A trainer around a model and an optimizer, on a mesh of its own.

    Args:
      model: From `decoder`.
      optimizer: From `adam`.
      length: Tokens in a row.
      per_core_batch: Rows a device; the global batch is this times the devices.
      ici: Sizes of mesh axes inside a slice; None: one device.
      dcn: Sizes across slices; None: one slice.
      rules: `RULES` or `WHOLE_VOCAB`.
      num_train_steps: Pax stops after 10,000,000 unless it is told otherwise.
      log_every: Pax's `summary_interval_steps`.
      eval_every: Pax's `eval_interval_steps`.
      save_every: Pax's `save_interval_steps`.
      keep: Pax's `save_max_to_keep`.
    """
    devices = math.prod((ici or {}).values()) * math.prod((dcn or {}).values())
    batch_size = round(per_core_batch * devices)
    rate = len(optimizer[:]) - 1
    return fdl.Config(
        Trainer,
        model=model,
        train_data=data("train", length, batch_size),
        eval_data=data("eval", length, batch_size),
        optimizer=optimizer,
        learning_rate=ref(f"optimizer[{rate}].learning_rate"),
        loss=fdl.Config(CrossEntropy),
        inputs={"tokens": "batch.tokens"},
        mesh=fdl.Config(
            Mesh,
            ici=fdl.Config(MeshAxes, **(ici or {})),
            dcn=fdl.Config(MeshAxes, **(dcn or {})),
        ),
        rules=rules,
        num_train_steps=num_train_steps,
        log_every=log_every,
        eval_every=eval_every,
        checkpoints=fdl.Config(CheckpointPolicy, every=save_every, keep=keep),
        seed=0,
    )


def data(split: str, length: int, batch_size: int) -> fdl.Config[Pipeline]:
    """Rows that are made up; an evaluation sees one batch of them."""
    evaluation = split == "eval"
    source = fdl.Config(
        SyntheticTokens,
        vocab_size=ref("model.vocab_size"),
        length=length,
        split=split,
    )
    if evaluation:
        source.num_examples = ref("^batch_size")
    return fdl.Config(
        Pipeline,
        source=source,
        batch_size=batch_size,
        shuffle=not evaluation,
        num_epochs=1 if evaluation else None,
        remainder="pad" if evaluation else "drop",
    )


def compute_in(model: fdl.Config[Transformer], dtype: Any) -> None:
    """A fiddler of a model: computes in `dtype`; parameters stay in float32."""
    block = model.layers.block
    for part in (model.embed, model.positions, block.attention, block.mlp):
        part.dtype = dtype


def pipeline(cfg: fdl.Config[Trainer], num_stages: int, microbatch: int) -> None:
    """A fiddler: the layers in stages, on `microbatch` rows of the batch at a time."""
    cfg.model.layers.pipeline = fdl.Config(
        Pipelining,
        num_stages=num_stages,
        num_microbatches=cfg.train_data.batch_size // microbatch,
    )


def quick(cfg: fdl.Config[Trainer], steps: int = 60) -> None:
    """A fiddler: a run of seconds, on any number of devices, with the schedule's shape.

    The peak of the rate suits a small model.
    """
    cfg.mesh.ici.data = -1
    cfg.num_train_steps = steps
    cfg.log_every = 10
    cfg.eval_every = steps // 2
    cfg.checkpoints.every = steps // 2
    schedule = cfg.optimizer[-1].learning_rate
    schedule.peak_value = 3e-3
    schedule.ramp_steps = steps // 10
    schedule.decay_start = steps // 10 + 1
    schedule.decay_end = steps
