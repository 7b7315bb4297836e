"""The language model of `lm.py` on byte pairs in place of bytes.

    pip install 'fdlkit[tokenizers]'
    fdlkit train experiments/bpe_lm.py:base --workdir=runs/bpe

The tokenizer is trained on the training files when it is first needed, and kept. The
held-out files are those of `lm.py`, and bits per byte count bytes of text whatever the
tokens are, so the numbers of both experiments may be compared.
"""

from __future__ import annotations

import fiddle as fdl
import optax

from fdlkit import ref
from fdlkit.data.byte_pairs import BytePairTokenizer
from fdlkit.data.corpus import StdlibCorpus
from fdlkit.data.pipeline import Pipeline
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
    """The layers of `lm.py:base`, and a table of 2,048 tokens for both ends."""
    corpus = fdl.Config(StdlibCorpus, split="train")
    tokenizer = fdl.Config(
        BytePairTokenizer, corpus=corpus, vocab_size=ref("model.vocab_size")
    )
    schedule = fdl.Config(
        optax.warmup_cosine_decay_schedule,
        init_value=0.0,
        peak_value=3e-3,
        warmup_steps=ref("num_train_steps") // 20,
        decay_steps=ref("num_train_steps"),
        end_value=3e-4,
    )
    held_out = fdl.Config(StdlibCorpus, split="eval")
    return fdl.Config(
        Trainer,
        model=model(),
        train_data=fdl.Config(
            Pipeline,
            source=windows(corpus, tokenizer),
            batch_size=8,
            shuffle=True,
        ),
        eval_data=fdl.Config(
            Pipeline,
            source=windows(held_out, tokenizer),
            batch_size=64,
            shuffle=False,
            num_epochs=1,
            remainder="pad",
        ),
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
            Mesh, ici=fdl.Config(MeshAxes, data=-1), dcn=fdl.Config(MeshAxes)
        ),
        num_train_steps=1500,
        log_every=100,
        eval_every=750,
        checkpoints=fdl.Config(CheckpointPolicy, every=500, keep=3),
        writers=[fdl.Config(TensorBoard)],
        seed=0,
    )


def model() -> fdl.Config[Transformer]:
    """Pre-norm, rotary positions, GELU; embedding and output are tied."""
    table = fdl.Config(Embed, vocab_size=ref("^vocab_size"), features=ref("^hidden"))
    return fdl.Config(
        Transformer,
        vocab_size=2048,
        hidden=128,
        embed=table,
        output=table,
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


def windows(
    corpus: fdl.Config[StdlibCorpus], tokenizer: fdl.Config[BytePairTokenizer]
) -> fdl.Config[TokenWindows]:
    """Windows of 128 tokens."""
    return fdl.Config(TokenWindows, corpus=corpus, tokenizer=tokenizer, length=128)


def tiny() -> fdl.Config[Trainer]:
    """Seconds, once there is a tokenizer."""
    cfg = base()
    cfg.model.vocab_size = 512
    cfg.model.hidden = 32
    cfg.model.layers.n = 2
    cfg.model.layers.block.attention.num_heads = 2
    for data in (cfg.train_data, cfg.eval_data):
        data.source.length = 32
    cfg.eval_data.batch_size = 256
    cfg.num_train_steps = 40
    cfg.log_every = 5
    cfg.eval_every = 20
    cfg.checkpoints.every = 10
    return cfg
