"""The config `experiments/lm.py:base` as Fiddle code.

Written by

    fdlkit codegen experiments/lm.py:base --style=fiddle --out=fiddle_base.py
"""

import fiddle as fdl
import optax

from fdlkit import ref
from fdlkit.data import ByteTokenizer, Pipeline, StdlibCorpus, TokenWindows
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
    """Equal to `experiments/lm.py:base`."""
    tokenizer = fdl.Config(ByteTokenizer)
    return fdl.Config(
        Trainer,
        model=model(),
        train_data=train_data(tokenizer),
        optimizer=optimizer(),
        num_train_steps=1500,
        loss=fdl.Config(CrossEntropy),
        inputs={"tokens": "batch.tokens"},
        eval_data=eval_data(tokenizer),
        metrics={
            "loss": fdl.Config(MeanLoss),
            "bits_per_byte": fdl.Config(BitsPerByte, tokenizer=tokenizer),
        },
        learning_rate=ref("optimizer[1].learning_rate"),
        mesh=fdl.Config(
            Mesh, ici=fdl.Config(MeshAxes, data=-1), dcn=fdl.Config(MeshAxes)
        ),
        log_every=100,
        eval_every=750,
        checkpoints=fdl.Config(CheckpointPolicy, every=500, keep=3),
        writers=[fdl.Config(TensorBoard)],
        seed=0,
    )


def model() -> fdl.Config[Transformer]:
    return fdl.Config(
        Transformer,
        vocab_size=256,
        hidden=128,
        embed=fdl.Config(Embed, vocab_size=ref("^vocab_size"), features=ref("^hidden")),
        output=fdl.Config(
            Embed, vocab_size=ref("^vocab_size"), features=ref("^hidden")
        ),
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


def train_data(tokenizer: fdl.Config[ByteTokenizer]) -> fdl.Config[Pipeline]:
    return fdl.Config(
        Pipeline,
        source=fdl.Config(
            TokenWindows,
            corpus=fdl.Config(StdlibCorpus, split="train"),
            tokenizer=tokenizer,
            length=128,
        ),
        batch_size=8,
        shuffle=True,
        num_epochs=None,
        seed=0,
        remainder="drop",
    )


def optimizer() -> fdl.Config:
    return fdl.Config(
        optax.chain,
        fdl.Config(optax.clip_by_global_norm, max_norm=1.0),
        fdl.Config(
            optax.adamw,
            learning_rate=fdl.Config(
                optax.warmup_cosine_decay_schedule,
                init_value=0.0,
                peak_value=0.003,
                warmup_steps=ref("num_train_steps") // 20,
                decay_steps=ref("num_train_steps"),
                end_value=0.0003,
            ),
            b2=0.98,
            weight_decay=0.1,
        ),
    )


def eval_data(tokenizer: fdl.Config[ByteTokenizer]) -> fdl.Config[Pipeline]:
    return fdl.Config(
        Pipeline,
        source=fdl.Config(
            TokenWindows,
            corpus=fdl.Config(StdlibCorpus, split="eval"),
            tokenizer=tokenizer,
            length=128,
        ),
        batch_size=64,
        shuffle=False,
        num_epochs=1,
        seed=0,
        remainder="pad",
    )
