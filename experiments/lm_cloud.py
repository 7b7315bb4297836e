"""Pax's LmCloud language models: from 158 million parameters to a trillion.

    fdlkit show  experiments/lm_cloud.py:lm_cloud_spmd_2b --card
    fdlkit check experiments/lm_cloud.py:lm_cloud_spmd_2b
    fdlkit train experiments/lm_cloud.py:tiny_spmd --workdir=runs/lm_cloud

The last one makes 60 steps, in a minute or so on anything. Of its language a uniform
guess costs 4.16 nats a token, perfect knowledge 0.73; its evaluation ends at 1.37.

Every function is named after the experiment of `paxml/tasks/lm/params/lm_cloud.py`. The
arguments are what people change; every field below them can be overridden. Parts and
general differences are in `pax.py`. What is built, by the code of Pax:

| experiment | layers x hidden | parameters | devices | batch x length |
|---|---|---|---|---|
| lm_cloud_transformer_adam_limit_steps | 10 x 1024 | 158,723,968 | 1 | 16 x 1024 |
| lm_cloud_spmd_test | 2 x 64 | 2,179,600 | 1 | 4 x 1024 |
| lm_cloud_spmd_2b, ..._limit_steps | 18 x 3072 | 2,137,273,856 | 4 | 32 x 1024 |
| lm_cloud_spmd_multislice_2b | 18 x 3072 | 2,137,273,856 | 2 x 4 | 128 x 1024 |
| lm_cloud_spmd_32b | 40 x 8192 | 32,477,401,344 | 64 | 512 x 1024 |
| lm_cloud_spmd_64b | 51 x 10240 | 64,505,290,368 | 128 | 512 x 1024 |
| lm_cloud_spmd_128b | 71 x 12288 | 129,048,825,984 | 256 | 1024 x 1024 |
| lm_cloud_spmd_256b | 80 x 16384 | 258,234,197,248 | 512 | 2048 x 1024 |
| lm_cloud_spmd_512b | 102 x 20480 | 514,057,056,256 | 1024 | 4096 x 1024 |
| lm_cloud_spmd_1024b | 142 x 24576 | 1,029,999,477,760 | 2048 | 4096 x 1024 |
| lm_cloud_spmd_pipeline_9b | 48 x 4096 | 9,796,564,224 | 64 | 512 x 1024 |
| lm_cloud_spmd_pipeline_175b | 96 x 12288 | 174,350,077,184 | 8 x 16 | 96 x 2048 |

Where Pax's documents and Pax's code differ, this is what the code does:

- `LmCloudSpmd2B` and `...LimitSteps` are documented with a global batch of 128. Their
  `PERCORE_BATCH_SIZE` is 8, on 4 devices: 32. (`...Multislice2B` has 128.)
- `DECAY_END = 100000` of the base class is not read: the rate falls until 300,000.
- `LmCloudTransformerAdam*` computes nothing twice. Its stack is given the policy
  SAVE_DOT_EXCEPT_LOGITS_FFN1, and `remat=False`, which switches it off.
- `LmCloudTransformerAdam*` has `SOFTMAX_CAP_LOGITS` nowhere: logits are not capped.
- Their learning rate is 1e-3, that of the others 2.5e-4.
- The pipelines give their number of microbatches by `MICROBATCH_SIZE`, rows of the
  global batch: 128 microbatches of 4 rows, and 48 of 2.
- `LmCloudSpmdPipeline175B` has 0.75 rows a device: its batch is 96, on 128 devices.
"""

from __future__ import annotations

import fiddle as fdl
import jax.numpy as jnp

from experiments import pax
from fdlkit.train.trainer import Trainer


def pmap(
    *,
    num_layers: int = 32,
    hidden: int = 1024,
    num_heads: int = 16,
    vocab_size: int = 32_000,
    length: int = 1024,
    per_core_batch: float = 16,
    devices: int = 1,
    num_train_steps: int = 10_000_000,
) -> fdl.Config[Trainer]:
    """The family of `LmCloudTransformerAdam`: data-parallel, float32, ReLU."""
    model = pax.decoder(
        vocab_size=vocab_size,
        hidden=hidden,
        num_layers=num_layers,
        num_heads=num_heads,
        head_dim=hidden // num_heads,
        remat="none",
        dtype=jnp.float32,
    )
    # Pax lays these layers out one after another, each with a kernel for query, key and
    # value of its own.
    model.layers.scan = False
    model.layers.block.attention.kernel_init.scale = 1.0
    model.layers.block.mlp.activation = "relu"
    model.embed.logit_cap = None
    return pax.experiment(
        model,
        pax.adam(pax.exponential(1e-3)),
        length=length,
        per_core_batch=per_core_batch,
        ici={"data": devices},
        num_train_steps=num_train_steps,
    )


def spmd(
    *,
    num_layers: int = 10,
    hidden: int = 2048,
    head_dim: int = 128,
    vocab_size: int = 32_000,
    length: int = 1024,
    per_core_batch: float = 16,
    ici: dict[str, int] | None = None,
    dcn: dict[str, int] | None = None,
    remat: str = "save_nothing",
    num_train_steps: int = 10_000_000,
) -> fdl.Config[Trainer]:
    """The family of `LmCloudSpmd`: bfloat16, GELU, layers in a loop, any mesh."""
    model = pax.decoder(
        vocab_size=vocab_size,
        hidden=hidden,
        num_layers=num_layers,
        num_heads=hidden // head_dim,
        head_dim=head_dim,
        remat=remat,
    )
    return pax.experiment(
        model,
        pax.adam(pax.exponential(2.5e-4)),
        length=length,
        per_core_batch=per_core_batch,
        ici=ici,
        dcn=dcn,
        num_train_steps=num_train_steps,
    )


def lm_cloud_transformer_adam_limit_steps(
    *, num_layers: int = 10, per_core_batch: int = 16, devices: int = 1
) -> fdl.Config[Trainer]:
    """LmCloudTransformerAdamLimitSteps: 158,723,968 parameters, 2,000 steps."""
    return pmap(
        num_layers=num_layers,
        per_core_batch=per_core_batch,
        devices=devices,
        num_train_steps=2000,
    )


def lm_cloud_spmd_test(
    *, num_layers: int = 2, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmdTest: 2,179,600 parameters, on one device."""
    return spmd(
        num_layers=num_layers, hidden=64, head_dim=8, per_core_batch=per_core_batch
    )


# Less the name of the file, as the functions of `c4.py` are called.
spmd_test = lm_cloud_spmd_test


def lm_cloud_spmd_2b(
    *, num_layers: int = 18, per_core_batch: int = 8, num_train_steps: int = 10_000_000
) -> fdl.Config[Trainer]:
    """LmCloudSpmd2B: 2,137,273,856 parameters, 4 devices, batch 32."""
    return spmd(
        num_layers=num_layers,
        hidden=3072,
        per_core_batch=per_core_batch,
        ici={"fsdp": 4},
        num_train_steps=num_train_steps,
    )


def lm_cloud_spmd_2b_limit_steps(
    *, num_layers: int = 18, per_core_batch: int = 8
) -> fdl.Config[Trainer]:
    """LmCloudSpmd2BLimitSteps: the same for 300 steps."""
    return lm_cloud_spmd_2b(
        num_layers=num_layers, per_core_batch=per_core_batch, num_train_steps=300
    )


def lm_cloud_spmd_multislice_2b(
    *, num_layers: int = 18, per_core_batch: int = 16, slices: int = 2
) -> fdl.Config[Trainer]:
    """LmCloudSpmdMultislice2B: 2,137,273,856 parameters, 2 slices of 4, batch 128."""
    return spmd(
        num_layers=num_layers,
        hidden=3072,
        per_core_batch=per_core_batch,
        ici={"fsdp": 4},
        dcn={"data": slices},
    )


def lm_cloud_spmd_32b(
    *, num_layers: int = 40, per_core_batch: int = 8
) -> fdl.Config[Trainer]:
    """LmCloudSpmd32B: 32,477,401,344 parameters, 64 devices, batch 512."""
    return spmd(
        num_layers=num_layers,
        hidden=8192,
        per_core_batch=per_core_batch,
        ici={"fsdp": 16, "tensor": 4},
        remat="save_context_and_out_proj",
    )


def lm_cloud_spmd_64b(
    *, num_layers: int = 51, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmd64B: 64,505,290,368 parameters, 128 devices, batch 512."""
    return spmd(
        num_layers=num_layers,
        hidden=10_240,
        per_core_batch=per_core_batch,
        ici={"fsdp": 16, "tensor": 8},
        remat="save_context_and_out_proj",
    )


def lm_cloud_spmd_128b(
    *, num_layers: int = 71, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmd128B: 129,048,825,984 parameters, 256 devices, batch 1024."""
    return spmd(
        num_layers=num_layers,
        hidden=12_288,
        per_core_batch=per_core_batch,
        ici={"fsdp": 64, "tensor": 4},
    )


def lm_cloud_spmd_256b(
    *, num_layers: int = 80, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmd256B: 258,234,197,248 parameters, 512 devices, batch 2048."""
    return spmd(
        num_layers=num_layers,
        hidden=16_384,
        per_core_batch=per_core_batch,
        ici={"fsdp": 64, "tensor": 8},
    )


def lm_cloud_spmd_512b(
    *, num_layers: int = 102, per_core_batch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmd512B: 514,057,056,256 parameters, 1024 devices, batch 4096."""
    return spmd(
        num_layers=num_layers,
        hidden=20_480,
        per_core_batch=per_core_batch,
        ici={"fsdp": 64, "tensor": 16},
    )


def lm_cloud_spmd_1024b(
    *, num_layers: int = 142, per_core_batch: int = 2
) -> fdl.Config[Trainer]:
    """LmCloudSpmd1024B: 1,029,999,477,760 parameters, 2048 devices, batch 4096."""
    return spmd(
        num_layers=num_layers,
        hidden=24_576,
        per_core_batch=per_core_batch,
        ici={"fsdp": 256, "tensor": 8},
    )


def lm_cloud_spmd_pipeline_9b(
    *, num_layers: int = 48, per_core_batch: int = 8, microbatch: int = 4
) -> fdl.Config[Trainer]:
    """LmCloudSpmdPipeline9B: 9,796,564,224 parameters, 16 stages of 4, float32."""
    cfg = spmd(
        num_layers=num_layers,
        hidden=4096,
        per_core_batch=per_core_batch,
        ici={"stage": 16, "data": 4},
    )
    pax.compute_in(cfg.model, jnp.float32)
    pax.pipeline(cfg, num_stages=16, microbatch=microbatch)
    return cfg


def lm_cloud_spmd_pipeline_175b(
    *, num_layers: int = 96, per_core_batch: float = 0.75, microbatch: int = 2
) -> fdl.Config[Trainer]:
    """LmCloudSpmdPipeline175B: 174,350,077,184 parameters, 8 slices of 16, batch 96."""
    cfg = spmd(
        num_layers=num_layers,
        hidden=12_288,
        length=2048,
        per_core_batch=per_core_batch,
        ici={"tensor": 16},
        dcn={"stage": 8},
    )
    pax.pipeline(cfg, num_stages=8, microbatch=microbatch)
    return cfg


def tiny_transformer() -> fdl.Config[Trainer]:
    """The family of `pmap` in seconds on anything."""
    cfg = pmap(
        num_layers=2,
        hidden=32,
        num_heads=4,
        vocab_size=64,
        length=32,
        per_core_batch=16,
    )
    pax.quick(cfg)
    return cfg


def tiny_spmd(*, ici: dict[str, int] | None = None) -> fdl.Config[Trainer]:
    """The family of `spmd` in seconds on anything."""
    cfg = spmd(
        num_layers=2,
        hidden=32,
        head_dim=8,
        vocab_size=64,
        length=32,
        per_core_batch=16,
        ici=ici,
    )
    pax.quick(cfg)
    return cfg


def tiny_pipeline() -> fdl.Config[Trainer]:
    """The family of the pipelines in seconds on anything: two stages, one device."""
    cfg = tiny_spmd()
    pax.compute_in(cfg.model, jnp.float32)
    pax.pipeline(cfg, num_stages=2, microbatch=4)
    return cfg
