"""The decoder of Haiku's Transformer example, to the parameter.

    fdlkit train experiments/transformer.py:base --workdir=runs/transformer
    fdlkit show experiments/transformer.py:base --card   # 2,417,536 parameters
    fdlkit show "experiments/transformer.py:base(head_dim=32)" --card   # 1,626,496

What is as there: 6 pre-norm layers of width 128 with 8 heads, every map and norm with a
bias; learned positions for 64 tokens; dropout of 0.1; an output of 128 tokens that is
not tied to the embedding; kernels by variance scaling of 2 / layers, tables from a
truncated normal of 0.02; Adam at 3e-4 after clipping at 1; seed 428.

What is not: the text is Python's standard library, read as ASCII, in place of
Shakespeare; several files stand side by side in a row, none of which attends to
another. Padding is masked out of the loss, as there.
"""

from __future__ import annotations

import fiddle as fdl
import jax
import optax

from fdlkit import ref
from fdlkit.data.corpus import StdlibCorpus
from fdlkit.data.packing import PackedDocuments
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.tokenizer import AsciiTokenizer
from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.norm import LayerNorm
from fdlkit.nn.positions import LearnedPositions
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.metrics import BitsPerByte, MeanLoss
from fdlkit.train.trainer import Trainer


def base(head_dim: int = 64) -> fdl.Config[Trainer]:
    """The whole experiment.

    Args:
      head_dim: The width of a head: 64 gives 2,417,536 parameters, 32 gives 1,626,496.
    """
    tokenizer = fdl.Config(AsciiTokenizer)
    return fdl.Config(
        Trainer,
        model=decoder(head_dim),
        train_data=rows(tokenizer, split="train", batch_size=16),
        eval_data=rows(tokenizer, split="eval", batch_size=128),
        inputs={
            "tokens": "batch.tokens",
            "segment_ids": "batch.segment_ids",
            "positions": "batch.positions",
        },
        # `batch.mask` is 0 on padding: no loss, and no gradient, comes from there.
        loss=fdl.Config(CrossEntropy),
        metrics={
            "loss": fdl.Config(MeanLoss),
            "bits_per_byte": fdl.Config(BitsPerByte, tokenizer=tokenizer),
        },
        optimizer=fdl.Config(
            optax.chain,
            fdl.Config(optax.clip_by_global_norm, max_norm=1.0),
            fdl.Config(optax.adam, learning_rate=3e-4, b1=0.9, b2=0.99),
        ),
        learning_rate=ref("optimizer[1].learning_rate"),
        mesh=fdl.Config(
            Mesh, ici=fdl.Config(MeshAxes, data=-1), dcn=fdl.Config(MeshAxes)
        ),
        num_train_steps=2000,
        log_every=100,
        eval_every=1000,
        seed=428,
    )


def decoder(head_dim: int) -> fdl.Config[Transformer]:
    """The model; `head_dim` is free of its width."""
    norm = fdl.Partial(LayerNorm, epsilon=1e-5, bias=True)
    return fdl.Config(
        Transformer,
        vocab_size=128,
        hidden=128,
        embed=table(),
        output=output(),
        positions=fdl.Config(
            LearnedPositions,
            length=64,
            features=ref("^hidden"),
            scaled=False,
            embedding_init=small(),
        ),
        layers=fdl.Config(
            Repeat,
            block=fdl.Config(
                Block,
                attention=fdl.Config(
                    SelfAttention,
                    features=ref("^hidden"),
                    num_heads=8,
                    head_dim=head_dim,
                    rotary=None,
                    bias=True,
                    # [embed, heads, head_dim], and back.
                    kernel_init=by_fan_in(in_axis=0, out_axis=(1, 2)),
                    out_kernel_init=by_fan_in(in_axis=(0, 1), out_axis=2),
                ),
                mlp=fdl.Config(
                    Mlp,
                    features=ref("^hidden"),
                    width=ref("^hidden") * 4,
                    activation="gelu",
                    bias=True,
                    kernel_init=by_fan_in(in_axis=0, out_axis=1),
                ),
                norm=norm,
                dropout=0.1,
            ),
            n=6,
        ),
        norm=norm,
    )


def table() -> fdl.Config[Embed]:
    """The embedding: looked up as it is, without a factor."""
    return fdl.Config(
        Embed,
        vocab_size=ref("^vocab_size"),
        features=ref("^hidden"),
        scaled=False,
        embedding_init=small(),
    )


def output() -> fdl.Config[Embed]:
    """The output layer: a kernel by fan-in, and a bias."""
    return fdl.Config(
        Embed,
        vocab_size=ref("^vocab_size"),
        features=ref("^hidden"),
        bias=True,
        embedding_init=fdl.Config(
            jax.nn.initializers.variance_scaling,
            scale=1.0,
            mode="fan_in",
            distribution="truncated_normal",
            in_axis=1,
            out_axis=0,
        ),
    )


def small() -> fdl.Config:
    """A truncated normal of 0.02, for tables."""
    return fdl.Config(jax.nn.initializers.truncated_normal, stddev=0.02)


def by_fan_in(
    *, in_axis: int | tuple[int, ...], out_axis: int | tuple[int, ...]
) -> fdl.Config:
    """Variance 2 / layers / fan-in."""
    return fdl.Config(
        jax.nn.initializers.variance_scaling,
        scale=2 / ref("model.layers.n"),
        mode="fan_in",
        distribution="truncated_normal",
        in_axis=in_axis,
        out_axis=out_axis,
    )


def rows(
    tokenizer: fdl.Config[AsciiTokenizer], *, split: str, batch_size: int
) -> fdl.Config[Pipeline]:
    """Batches of rows of 64 tokens."""
    evaluation = split == "eval"
    return fdl.Config(
        Pipeline,
        source=fdl.Config(
            PackedDocuments,
            corpus=fdl.Config(StdlibCorpus, split=split),
            tokenizer=tokenizer,
            length=64,
        ),
        batch_size=batch_size,
        shuffle=not evaluation,
        num_epochs=1 if evaluation else None,
        remainder="pad" if evaluation else "drop",
    )


def tiny() -> fdl.Config[Trainer]:
    """Seconds on anything; what the tests train."""
    cfg = base(head_dim=8)
    cfg.model.hidden = 32
    cfg.model.layers.n = 2
    cfg.model.layers.block.attention.num_heads = 2
    cfg.model.positions.length = 32
    for data in (cfg.train_data, cfg.eval_data):
        data.source.length = 32
    cfg.eval_data.batch_size = 1024
    cfg.num_train_steps = 40
    cfg.log_every = 5
    cfg.eval_every = 20
    return cfg
