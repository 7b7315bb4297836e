"""A small language model on real text: the sources of Python's standard library.

    fdlkit train experiments/lm.py:base --workdir=runs/demo

Bytes are the tokens, so the held-out loss is in bits per byte.
"""

from __future__ import annotations

import fiddle as fdl
import jax.numpy as jnp
import optax

from fdlkit import ref
from fdlkit.data.corpus import StdlibCorpus
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.tokenizer import ByteTokenizer
from fdlkit.data.windows import TokenWindows
from fdlkit.nn.attention import SelfAttention
from fdlkit.nn.block import Block
from fdlkit.nn.embed import Embed
from fdlkit.nn.mlp import Mlp
from fdlkit.nn.repeat import Repeat
from fdlkit.nn.transformer import Transformer
from fdlkit.sharding.mesh import Mesh, MeshAxes
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.metrics import BitsPerByte, MeanLoss
from fdlkit.train.trainer import Trainer
from fdlkit.train.writers import TensorBoard


def base() -> fdl.Config[Trainer]:
    """About a million parameters; five minutes on two CPU cores."""
    tokenizer = fdl.Config(ByteTokenizer)
    schedule = fdl.Config(
        optax.warmup_cosine_decay_schedule,
        init_value=0.0,
        peak_value=3e-3,
        warmup_steps=ref("num_train_steps") // 20,
        decay_steps=ref("num_train_steps"),
        end_value=3e-4,
    )
    return fdl.Config(
        Trainer,
        model=model(),
        train_data=windows(tokenizer, split="train", length=128, batch_size=8),
        eval_data=windows(tokenizer, split="eval", length=128, batch_size=64),
        optimizer=fdl.Config(
            optax.chain,
            fdl.Config(optax.clip_by_global_norm, max_norm=1.0),
            fdl.Config(optax.adamw, learning_rate=schedule, b2=0.98, weight_decay=0.1),
        ),
        learning_rate=ref("optimizer[1].learning_rate"),
        loss=fdl.Config(CrossEntropy),
        inputs={"tokens": "batch.tokens"},
        metrics={
            "loss": fdl.Config(MeanLoss),
            "bits_per_byte": fdl.Config(BitsPerByte, tokenizer=tokenizer),
        },
        mesh=fdl.Config(
            Mesh,
            ici=fdl.Config(MeshAxes, data=-1),
            dcn=fdl.Config(MeshAxes),
        ),
        num_train_steps=1500,
        log_every=100,
        eval_every=750,
        checkpoints=fdl.Config(CheckpointPolicy, every=500, keep=3),
        writers=[fdl.Config(TensorBoard)],
        seed=0,
    )


def model() -> fdl.Config[Transformer]:
    """The model of `base`: pre-norm, rotary positions, GELU, an own output layer."""
    return fdl.Config(
        Transformer,
        vocab_size=256,
        hidden=128,
        embed=embedding(),
        output=embedding(),
        layers=fdl.Config(
            Repeat,
            block=fdl.Config(
                Block,
                attention=fdl.Config(
                    SelfAttention, features=ref("^hidden"), num_heads=4
                ),
                mlp=fdl.Config(Mlp, features=ref("^hidden"), width=ref("^hidden") * 4),
            ),
            n=4,
        ),
    )


def embedding() -> fdl.Config[Embed]:
    """A table as wide as the model around it."""
    return fdl.Config(Embed, vocab_size=ref("^vocab_size"), features=ref("^hidden"))


def windows(
    tokenizer: fdl.Config[ByteTokenizer], *, split: str, length: int, batch_size: int
) -> fdl.Config[Pipeline]:
    """Batches of windows: shuffled for ever to train, once through to evaluate."""
    evaluation = split == "eval"
    return fdl.Config(
        Pipeline,
        source=fdl.Config(
            TokenWindows,
            corpus=fdl.Config(StdlibCorpus, split=split),
            tokenizer=tokenizer,
            length=length,
        ),
        batch_size=batch_size,
        shuffle=not evaluation,
        seed=0,
        num_epochs=1 if evaluation else None,
        remainder="pad" if evaluation else "drop",
    )


def tiny() -> fdl.Config[Trainer]:
    """Seconds on anything; what the tests train."""
    cfg = base()
    cfg.model.hidden = 32
    cfg.model.layers.n = 2
    cfg.model.layers.block.attention.num_heads = 2
    for data in (cfg.train_data, cfg.eval_data):
        data.source.length = 32
    cfg.train_data.batch_size = 8
    cfg.eval_data.batch_size = 256
    cfg.num_train_steps = 40
    cfg.log_every = 5
    cfg.eval_every = 20
    cfg.checkpoints.every = 10
    return cfg


def tied() -> fdl.Config[Trainer]:
    """`base` with one table for embedding and output."""
    cfg = base()
    cfg.model.output = cfg.model.embed
    return cfg


def bfloat16(cfg: fdl.Config[Trainer]) -> None:
    """A fiddler: computes in bfloat16; parameters stay in float32."""
    block = cfg.model.layers.block
    for part in (block.attention, block.mlp, cfg.model.embed, cfg.model.output):
        part.dtype = jnp.bfloat16
