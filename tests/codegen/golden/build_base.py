"""What `experiments/lm.py:base` builds, as plain constructor calls.

Written by

    fdlkit codegen experiments/lm.py:base --style=build --out=build_base.py
"""

import optax

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


def build() -> Trainer:
    """Returns what `experiments/lm.py:base` builds."""
    num_train_steps = 1500
    tokenizer = ByteTokenizer()
    learning_rate = optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=0.003,
        warmup_steps=num_train_steps // 20,
        decay_steps=num_train_steps,
        end_value=0.0003,
    )
    return Trainer(
        model=build_model(),
        train_data=build_train_data(tokenizer),
        optimizer=optax.chain(
            optax.clip_by_global_norm(max_norm=1.0),
            optax.adamw(learning_rate=learning_rate, b2=0.98, weight_decay=0.1),
        ),
        num_train_steps=num_train_steps,
        loss=CrossEntropy(),
        inputs={"tokens": "batch.tokens"},
        eval_data=build_eval_data(tokenizer),
        metrics={"loss": MeanLoss(), "bits_per_byte": BitsPerByte(tokenizer=tokenizer)},
        learning_rate=learning_rate,
        mesh=Mesh(ici=MeshAxes(data=-1), dcn=MeshAxes()),
        log_every=100,
        eval_every=750,
        checkpoints=CheckpointPolicy(every=500, keep=3),
        writers=[TensorBoard()],
        seed=0,
    )


def build_model() -> Transformer:
    vocab_size = 256
    hidden = 128
    return Transformer(
        vocab_size=vocab_size,
        hidden=hidden,
        embed=Embed(vocab_size=vocab_size, features=hidden),
        output=Embed(vocab_size=vocab_size, features=hidden),
        layers=Repeat(
            block=Block(
                attention=SelfAttention(features=hidden, num_heads=4),
                mlp=Mlp(features=hidden, width=hidden * 4),
            ),
            n=4,
        ),
    )


def build_train_data(tokenizer: ByteTokenizer) -> Pipeline:
    return Pipeline(
        source=TokenWindows(
            corpus=StdlibCorpus(split="train"), tokenizer=tokenizer, length=128
        ),
        batch_size=8,
        shuffle=True,
        num_epochs=None,
        seed=0,
        remainder="drop",
    )


def build_eval_data(tokenizer: ByteTokenizer) -> Pipeline:
    return Pipeline(
        source=TokenWindows(
            corpus=StdlibCorpus(split="eval"), tokenizer=tokenizer, length=128
        ),
        batch_size=64,
        shuffle=False,
        num_epochs=1,
        seed=0,
        remainder="pad",
    )
