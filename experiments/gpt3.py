"""GPT-3 as Pax trains it: 175 billion parameters, smaller ones, MLPerf's settings.

    fdlkit show  experiments/gpt3.py:pipeline_gpt3_small_adam_8replicas --card
    fdlkit check experiments/gpt3.py:gpt3_adam_org_hp_bs1p5k_1536replicas
    fdlkit train experiments/gpt3.py:tiny --workdir=runs/gpt3

The last one makes 60 steps, in a minute or so on anything. Of its language a uniform
guess costs 4.16 nats a token, perfect knowledge 0.73; its evaluation ends below 2.4.

Every function is named after the experiment of `paxml/tasks/lm/params/c4.py`, less
`C4Spmd`; `gpt_126m_base` is NVIDIA's (`paxml/contrib/gpu/scripts_gpu/configs.py`). The
arguments are what people change; every field below them can be overridden. Parts and
general differences are in `pax.py`. What is built, by the code of Pax:

| experiment | layers x hidden | parameters | devices | batch |
|---|---|---|---|---|
| pipeline_gpt3_small_adam_8replicas | 24 x 3072 | 2,926,491,648 | 8, 2 stages | 512 |
| pipeline_gpt3_small_adam_64replicas | 24 x 3072 | 2,923,594,752 | 64, 4 stages | 64 |
| gpt3_adam_org_hp_bs1p5k_1536replicas | 96 x 12288 | 174,792,007,680 | 1536 | 1536 |
| pipeline_gpt3_adam_org_hp_bs1p5k_768replicas | ... | | 768, 8 stages | 1536 |
| pipeline_gpt3_adam_mlperf_hp_bs1p5k_768replicas | ... | | 768, 8 stages | 1536 |
| pipeline_gpt3_adam_mlperf_hp_bs2k_512replicas | ... | | 512, 8 stages | 2048 |
| pipeline_gpt3_adam_mlperf_hp_bs3k_768replicas | ... | | 768, 4 stages | 3072 |
| pipeline_gpt3_adam_mlperf_hp_bs4k_1024replicas | ... | | 1024, 8 stages | 4096 |
| pipeline_gpt3_adam_mlperf_hp_bs8k_1024replicas | ... | | 1024, 4 stages | 8192 |
| gpt3_l16_adam_org_hp | 16 x 12288 | 29,812,494,336 | 64 | 192 |
| gpt_126m_base | 12 x 768 | 125,262,336 | 8 x 8 | 256 |

Rows have 2,048 tokens. The model differs from LmCloud's: nothing is capped, queries
have no learned scale, projections of attention have biases, logits have none, positions
are learned, and all weights start from a Gaussian of 0.006. Where Pax's documents and
Pax's code differ, this is what the code does:

- `SmallAdam8Replicas` says that it is the GPT-3 XL of the paper with 1.3 billion
  parameters. It has 2.93 billion.
- `SmallAdam64Replicas`, which Pax has removed, says that its batch is 512. It sets
  `PER_CORE_BATCH_SIZE`, which nothing reads; `PERCORE_BATCH_SIZE` is 1, the batch 64.
- `OrgHPBS1p5k768Replicas` sets `MICROBATCH_SIAZE = 8`, which nothing reads:
  `MICROBATCH_SIZE` is 2, of which 8 shards of rows have a quarter each. Pax pads; here
  the 8 rows that were meant are taken, 192 microbatches.
- Embeddings are not multiplied by the root of the width, though they are for every
  other model of Pax.
- `ADAM_CLIP_THRESHOLD = -1` and `ATTEN_LOGIT_CAP = -1` switch off; 0 would not, of the
  first: it stands for the default, 1.
- `L16AdamOrgHP` is evaluated every 25,000 steps, not every 100.
- GPT126M's `R_COS_MIN_RATIO` is not read; the ratio is 0.1 all the same. Its layers
  compute nothing twice: without repeated layers no policy is used.
- 51,200 tokens are "TPU friendly", but 24 and 12 do not divide them, and 4 does not
  divide 50,257. Pax pads the table on such a mesh; here it is whole along `tensor`.
- Embeddings and logits of the pipelines are cut over the stages too in Pax, by rows;
  here every stage computes them for all rows of its shard.
- All but GPT126M stop as soon as the evaluation's loss is 2.69 or less.
"""

from __future__ import annotations

from typing import Any

import fiddle as fdl
import jax
import jax.numpy as jnp
import optax

from experiments import pax
from fdlkit import ref
from fdlkit.nn.positions import LearnedPositions
from fdlkit.nn.transformer import Transformer
from fdlkit.train.goals import StopEarly
from fdlkit.train.schedules import ramp_then_cosine
from fdlkit.train.trainer import Trainer

LENGTH = 2048


def decoder(
    *,
    vocab_size: int,
    hidden: int,
    num_layers: int,
    num_heads: int,
    positions: int = 16_384,
    stddev: float = 0.006,
    remat: str = "save_nothing",
    dtype: Any = jnp.bfloat16,
) -> fdl.Config[Transformer]:
    """GPT-3: LmCloud's model with the changes that the top of this file names."""
    model = pax.decoder(
        vocab_size=vocab_size,
        hidden=hidden,
        num_layers=num_layers,
        num_heads=num_heads,
        head_dim=hidden // num_heads,
        remat=remat,
        dtype=dtype,
    )
    model.embed.scaled = False
    model.embed.bias = False
    model.embed.logit_cap = None
    model.embed.embedding_init = gaussian(stddev)
    model.positions = fdl.Config(
        LearnedPositions,
        length=positions,
        features=ref("^hidden"),
        scaled=False,
        embedding_init=gaussian(stddev),
        dtype=dtype,
    )
    attention = model.layers.block.attention
    attention.bias = True
    attention.per_dim_scale = False
    attention.logit_cap = None
    attention.kernel_init = gaussian(stddev)
    attention.out_kernel_init = gaussian(stddev)
    model.layers.block.mlp.kernel_init = gaussian(stddev)
    model.layers.block.norm = pax.norm(1e-5)
    model.norm = pax.norm(1e-5)
    return model


def gaussian(stddev: float) -> fdl.Config:
    """Normal with a standard deviation that no shape changes."""
    return fdl.Config(jax.nn.initializers.normal, stddev=stddev)


def adam(
    schedule: fdl.Config[optax.Schedule],
) -> fdl.Config[optax.GradientTransformation]:
    """The optimizer of the GPT-3 paper."""
    return pax.adam(
        schedule, b2=0.95, eps=1e-8, weight_decay=0.1, max_norm=1.0, update_clip=None
    )


def cosine(
    peak: float, *, ramp_steps: int = 265, decay_end: int = 108_600
) -> fdl.Config[optax.Schedule]:
    """Up in a line, down by a cosine to a tenth; steps as they suit a batch of 1536."""
    return fdl.Config(
        ramp_then_cosine,
        peak_value=peak,
        ramp_steps=ramp_steps,
        decay_start=ramp_steps + 1,
        decay_end=decay_end,
        floor=0.1,
    )


def mlperf(batch_size: int) -> fdl.Config[optax.Schedule]:
    """The rate of MLPerf's reference: the steps shrink as the batch grows."""
    return cosine(
        2e-5 if batch_size <= 3584 else 3e-5,
        ramp_steps=-(-265 * 1536 // batch_size),
        decay_end=-(-108_600 * 1536 // batch_size),
    )


def large(
    *,
    num_layers: int = 96,
    vocab_size: int = 51_200,
    per_core_batch: int,
    ici: dict[str, int],
    schedule: fdl.Config[optax.Schedule],
    eval_every: int,
    save_every: int,
    keep: int = 100,
    log_every: int = 1,
    dtype: Any = jnp.float32,
) -> fdl.Config[Trainer]:
    """The family of the large models: 12,288 wide, 96 heads, every field below."""
    divides = vocab_size % ici.get("tensor", 1) == 0
    cfg = pax.experiment(
        decoder(
            vocab_size=vocab_size,
            hidden=12_288,
            num_layers=num_layers,
            num_heads=96,
            dtype=dtype,
        ),
        adam(schedule),
        length=LENGTH,
        per_core_batch=per_core_batch,
        ici=ici,
        rules=pax.RULES if divides else pax.WHOLE_VOCAB,
        log_every=log_every,
        eval_every=eval_every,
        save_every=save_every,
        keep=keep,
    )
    cfg.stop_early = fdl.Config(StopEarly, metric="eval/loss", reaches=2.69)
    return cfg


def small(
    *,
    num_layers: int = 24,
    vocab_size: int = 51_200,
    per_core_batch: int,
    ici: dict[str, int],
    eval_every: int,
    log_every: int,
) -> fdl.Config[Trainer]:
    """The family of the small models: 3,072 wide, 24 heads, bfloat16."""
    divides = vocab_size % ici.get("tensor", 1) == 0
    cfg = pax.experiment(
        decoder(
            vocab_size=vocab_size, hidden=3072, num_layers=num_layers, num_heads=24
        ),
        adam(cosine(2e-4)),
        length=LENGTH,
        per_core_batch=per_core_batch,
        ici=ici,
        rules=pax.RULES if divides else pax.WHOLE_VOCAB,
        log_every=log_every,
        eval_every=eval_every,
        save_every=200,
        keep=1000,
    )
    cfg.stop_early = fdl.Config(StopEarly, metric="eval/loss", reaches=2.69)
    return cfg


def pipeline_gpt3_small_adam_8replicas(
    *, num_layers: int = 24, per_core_batch: int = 64, microbatch: int = 8
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3SmallAdam8Replicas: 2,926,491,648 parameters, 2 stages of 4."""
    cfg = small(
        num_layers=num_layers,
        per_core_batch=per_core_batch,
        ici={"stage": 2, "fsdp": 2, "tensor": 2},
        eval_every=10,
        log_every=5,
    )
    pax.pipeline(cfg, 2, microbatch)
    return cfg


def pipeline_gpt3_small_adam_64replicas(
    *, num_layers: int = 24, per_core_batch: int = 1, microbatch: int = 16
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3SmallAdam64Replicas: 2,923,594,752 parameters, 4 stages."""
    cfg = small(
        num_layers=num_layers,
        vocab_size=50_257,
        per_core_batch=per_core_batch,
        ici={"stage": 4, "fsdp": 4, "tensor": 4},
        eval_every=100,
        log_every=1,
    )
    pax.pipeline(cfg, 4, microbatch)
    return cfg


def gpt3_adam_org_hp_bs1p5k_1536replicas(
    *, num_layers: int = 96, per_core_batch: int = 1
) -> fdl.Config[Trainer]:
    """C4SpmdGpt3AdamOrgHPBS1p5k1536Replicas: 174,792,007,680 parameters, float32."""
    return large(
        num_layers=num_layers,
        per_core_batch=per_core_batch,
        ici={"fsdp": 64, "tensor": 24},
        schedule=cosine(6e-5),
        eval_every=25,
        save_every=100,
    )


def pipeline_gpt3_adam_org_hp_bs1p5k_768replicas(
    *, num_layers: int = 96, microbatch: int = 8
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamOrgHPBS1p5k768Replicas: 8 stages of 96, float32."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=2,
        ici={"stage": 8, "fsdp": 8, "tensor": 12},
        schedule=cosine(6e-5),
        eval_every=25,
        save_every=50,
    )
    pax.pipeline(cfg, 8, microbatch)
    return cfg


def pipeline_gpt3_adam_mlperf_hp_bs1p5k_768replicas(
    *, num_layers: int = 96, microbatch: int = 8
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamMLPerfHPBS1p5k768Replicas: 8 stages of 96, batch 1536."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=2,
        ici={"stage": 8, "fsdp": 8, "tensor": 12},
        schedule=mlperf(1536),
        eval_every=16,
        save_every=32,
    )
    pax.pipeline(cfg, 8, microbatch)
    return cfg


def pipeline_gpt3_adam_mlperf_hp_bs2k_512replicas(
    *, num_layers: int = 96, microbatch: int = 8
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamMLPerfHPBS2k512Replicas: 8 stages of 64, batch 2048."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=4,
        ici={"stage": 8, "fsdp": 8, "tensor": 8},
        schedule=mlperf(2048),
        eval_every=12,
        save_every=24,
    )
    pax.pipeline(cfg, 8, microbatch)
    return cfg


def pipeline_gpt3_adam_mlperf_hp_bs3k_768replicas(
    *, num_layers: int = 96, microbatch: int = 16
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamMLPerfHPBS3k768Replicas: 4 stages of 192, batch 3072."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=4,
        ici={"stage": 4, "fsdp": 16, "tensor": 12},
        schedule=mlperf(3072),
        eval_every=8,
        save_every=16,
    )
    pax.pipeline(cfg, 4, microbatch)
    return cfg


def pipeline_gpt3_adam_mlperf_hp_bs4k_1024replicas(
    *, num_layers: int = 96, microbatch: int = 8
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamMLPerfHPBS4k1024Replicas: 8 stages of 128, batch 4096."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=4,
        ici={"stage": 8, "fsdp": 8, "tensor": 16},
        schedule=mlperf(4096),
        eval_every=6,
        save_every=12,
    )
    pax.pipeline(cfg, 8, microbatch)
    return cfg


def pipeline_gpt3_adam_mlperf_hp_bs8k_1024replicas(
    *, num_layers: int = 96, microbatch: int = 16
) -> fdl.Config[Trainer]:
    """C4SpmdPipelineGpt3AdamMLPerfHPBS8k1024Replicas: 4 stages of 256, batch 8192."""
    cfg = large(
        num_layers=num_layers,
        per_core_batch=8,
        ici={"stage": 4, "fsdp": 16, "tensor": 16},
        schedule=mlperf(8192),
        eval_every=3,
        save_every=6,
    )
    pax.pipeline(cfg, 4, microbatch)
    return cfg


def gpt3_l16_adam_org_hp(
    *, num_layers: int = 16, per_core_batch: int = 3
) -> fdl.Config[Trainer]:
    """C4SpmdGpt3L16AdamOrgHP: 29,812,494,336 parameters, 64 devices, bfloat16."""
    return large(
        num_layers=num_layers,
        vocab_size=50_257,
        per_core_batch=per_core_batch,
        ici={"fsdp": 16, "tensor": 4},
        schedule=cosine(6e-5),
        eval_every=25_000,
        save_every=100,
        keep=10,
        log_every=10,
        dtype=jnp.bfloat16,
    )


def gpt_126m_base(
    *, num_layers: int = 12, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """GPT126MBase: 125,262,336 parameters, data-parallel on 8 nodes of 8, bfloat16."""
    model = decoder(
        vocab_size=50_304,
        hidden=768,
        num_layers=num_layers,
        num_heads=12,
        positions=LENGTH,
        stddev=0.023,
        remat="none",
    )
    model.layers.scan = False
    return pax.experiment(
        model,
        adam(cosine(6e-4, ramp_steps=636, decay_end=500_000)),
        length=LENGTH,
        per_core_batch=per_core_batch,
        ici={"data": 8},
        dcn={"data": 8},
        num_train_steps=600_000,
    )


def tiny(*, ici: dict[str, int] | None = None) -> fdl.Config[Trainer]:
    """The family of `large` in seconds on anything."""
    cfg = pax.experiment(
        decoder(
            vocab_size=64,
            hidden=32,
            num_layers=2,
            num_heads=4,
            positions=128,
            stddev=0.05,
        ),
        adam(cosine(1e-2)),
        length=32,
        per_core_batch=16,
        ici=ici,
    )
    pax.quick(cfg)
    return cfg


def tiny_pipeline(*, ici: dict[str, int] | None = None) -> fdl.Config[Trainer]:
    """The family of the pipelines in seconds on anything: two stages."""
    cfg = tiny(ici=ici)
    pax.pipeline(cfg, 2, 4)
    return cfg
