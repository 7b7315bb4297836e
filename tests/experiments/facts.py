"""What Pax's language models are, as plain data, apart from the experiments.

Read from resolved Pax configs. `parameters` is what Praxis itself counted, None where
it was not asked. Meshes are in Pax's order: [replica, data, mdl], pipelines with the
stages before. The batch is what Pax's code makes of `PERCORE_BATCH_SIZE`.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """One experiment of Pax."""

    target: str
    pax: str
    layers: int
    hidden: int
    heads: tuple[int, int]
    vocab: int
    length: int
    per_core: float
    ici: tuple[int, ...]
    dcn: tuple[int, ...] = ()
    batch: int
    parameters: int | None = None
    gpt3: int = 0  # how many positions are learned; 0: the model of LmCloud
    steps: int = 10_000_000
    cadence: tuple[int, int, int, int]  # save, keep, evaluate, log

    @property
    def axes(self) -> dict[str, int]:
        """Devices along each of this house's mesh axes."""
        names = ("stage", "data", "fsdp", "tensor")[4 - len(self.ici) :]
        dcn = self.dcn or (1,) * len(self.ici)
        return {n: i * d for n, i, d in zip(names, self.ici, dcn, strict=True)}

    def count(self) -> int:
        """The parameters by the closed formula."""
        d, f, (h, k) = self.hidden, 4 * self.hidden, self.heads
        layer = 4 * d * h * k + 2 * d * f + f + d + 4 * d
        layer += 3 * h * k + d if self.gpt3 else k
        rest = self.gpt3 * d if self.gpt3 else self.vocab
        return self.layers * layer + self.vocab * d + rest + 2 * d


def lm_cloud(target: str, pax: str, **facts) -> Row:
    return Row(
        target=f"lm_cloud.py:{target}",
        pax=pax,
        **{"vocab": 32_000, "length": 1024, "cadence": (5000, 10, 100, 100)} | facts,
    )


def c4(target: str, pax: str, **facts) -> Row:
    return Row(
        target=f"c4.py:{target}",
        pax=pax,
        **{"vocab": 32_000, "length": 1024, "cadence": (1000, 10, 100, 10)} | facts,
    )


def gpt3(target: str, pax: str, **facts) -> Row:
    large = {"layers": 96, "hidden": 12_288, "heads": (96, 128), "vocab": 51_200}
    return Row(
        target=f"gpt3.py:{target}",
        pax=pax,
        **large | {"length": 2048, "gpt3": 16_384} | facts,
    )


MB, B = 2_137_273_856, 32_477_401_344
SIZE_2B = {"layers": 18, "hidden": 3072, "heads": (24, 128)}
SIZE_32B = {"layers": 40, "hidden": 8192, "heads": (64, 128)}
SMALL = {"layers": 24, "hidden": 3072, "heads": (24, 128)}
V4_128 = {
    "layers": 48,
    "hidden": 6144,
    "heads": (24, 256),
    "vocab": 32_768,
    "per_core": 16,
    "ici": (1, 64, 1),
    "parameters": 21_947_310_080,
}
V4_384 = {
    "layers": 24,
    "hidden": 9216,
    "heads": (24, 384),
    "vocab": 32_768,
    "per_core": 10,
    "ici": (1, 192, 1),
    "parameters": 24_765_221_888,
}
V4_8 = {
    "layers": 16,
    "hidden": 2048,
    "heads": (8, 256),
    "vocab": 32_768,
    "per_core": 16,
    "ici": (1, 4, 1),
    "parameters": 872_751_104,
}
V5_256 = {
    "layers": 40,
    "hidden": 8192,
    "heads": (32, 256),
    "vocab": 32_768,
    "length": 2048,
    "per_core": 2,
    "ici": (1, 128, 1),
    "parameters": 32_483_698_688,
}

LM_CLOUD = (
    lm_cloud(
        "lm_cloud_transformer_adam_limit_steps",
        "LmCloudTransformerAdamLimitSteps",
        layers=10,
        hidden=1024,
        heads=(16, 64),
        per_core=16,
        ici=(1, 1, 1),
        batch=16,
        parameters=158_723_968,
        steps=2000,
    ),
    lm_cloud(
        "lm_cloud_spmd_test",
        "LmCloudSpmdTest",
        layers=2,
        hidden=64,
        heads=(8, 8),
        per_core=4,
        ici=(1, 1, 1),
        batch=4,
        parameters=2_179_600,
    ),
    lm_cloud(
        "lm_cloud_spmd_2b",
        "LmCloudSpmd2B",
        **SIZE_2B,
        per_core=8,
        ici=(1, 4, 1),
        batch=32,
        parameters=MB,
    ),
    lm_cloud(
        "lm_cloud_spmd_2b_limit_steps",
        "LmCloudSpmd2BLimitSteps",
        **SIZE_2B,
        per_core=8,
        ici=(1, 4, 1),
        batch=32,
        parameters=MB,
        steps=300,
    ),
    lm_cloud(
        "lm_cloud_spmd_multislice_2b",
        "LmCloudSpmdMultislice2B",
        **SIZE_2B,
        per_core=16,
        ici=(1, 4, 1),
        dcn=(2, 1, 1),
        batch=128,
        parameters=MB,
    ),
    lm_cloud(
        "lm_cloud_spmd_32b",
        "LmCloudSpmd32B",
        **SIZE_32B,
        per_core=8,
        ici=(1, 16, 4),
        batch=512,
        parameters=B,
    ),
    lm_cloud(
        "lm_cloud_spmd_64b",
        "LmCloudSpmd64B",
        layers=51,
        hidden=10_240,
        heads=(80, 128),
        per_core=4,
        ici=(1, 16, 8),
        batch=512,
        parameters=64_505_290_368,
    ),
    lm_cloud(
        "lm_cloud_spmd_128b",
        "LmCloudSpmd128B",
        layers=71,
        hidden=12_288,
        heads=(96, 128),
        per_core=4,
        ici=(1, 64, 4),
        batch=1024,
        parameters=129_048_825_984,
    ),
    lm_cloud(
        "lm_cloud_spmd_256b",
        "LmCloudSpmd256B",
        layers=80,
        hidden=16_384,
        heads=(128, 128),
        per_core=4,
        ici=(1, 64, 8),
        batch=2048,
        parameters=258_234_197_248,
    ),
    lm_cloud(
        "lm_cloud_spmd_512b",
        "LmCloudSpmd512B",
        layers=102,
        hidden=20_480,
        heads=(160, 128),
        per_core=4,
        ici=(1, 64, 16),
        batch=4096,
        parameters=514_057_056_256,
    ),
    lm_cloud(
        "lm_cloud_spmd_1024b",
        "LmCloudSpmd1024B",
        layers=142,
        hidden=24_576,
        heads=(192, 128),
        per_core=2,
        ici=(1, 256, 8),
        batch=4096,
        parameters=1_029_999_477_760,
    ),
    lm_cloud(
        "lm_cloud_spmd_pipeline_9b",
        "LmCloudSpmdPipeline9B",
        layers=48,
        hidden=4096,
        heads=(32, 128),
        per_core=8,
        ici=(16, 4, 1, 1),
        batch=512,
        parameters=9_796_564_224,
    ),
    lm_cloud(
        "lm_cloud_spmd_pipeline_175b",
        "LmCloudSpmdPipeline175B",
        layers=96,
        hidden=12_288,
        heads=(96, 128),
        length=2048,
        per_core=0.75,
        ici=(1, 1, 1, 16),
        dcn=(8, 1, 1, 1),
        batch=96,
        parameters=174_350_077_184,
    ),
)

C4 = (
    *(
        c4(
            f"spmd_1b_adam_4replicas{'_limit_steps' * limited}",
            f"C4Spmd1BAdam4Replicas{'LimitSteps' * limited}",
            layers=13,
            hidden=2560,
            heads=(20, 128),
            per_core=32,
            ici=(1, 4, 1),
            batch=128,
            parameters=1_104_619_904,
            steps=15_000 if limited else 10_000_000,
        )
        for limited in (False, True)
    ),
    c4(
        "spmd_2b_adam_4replicas",
        "C4Spmd2BAdam4Replicas",
        **SIZE_2B,
        per_core=32,
        ici=(1, 4, 1),
        batch=128,
    ),
    c4(
        "spmd_16b_adam_32replicas",
        "C4Spmd16BAdam32Replicas",
        layers=36,
        hidden=6144,
        heads=(48, 128),
        per_core=16,
        ici=(1, 16, 2),
        batch=512,
        parameters=16_506_101_504,
    ),
    c4(
        "spmd_32b_adam_64replicas",
        "C4Spmd32BAdam64Replicas",
        **SIZE_32B,
        per_core=8,
        ici=(1, 16, 4),
        batch=512,
    ),
    *(
        c4(
            f"spmd_22b_adam_{n}x{name}{'_limit_steps' * limited}",
            f"C4Spmd22BAdam{n}x{name}{'LimitSteps' * limited}",
            **facts,
            dcn=(n, 1, 1),
            batch=n * batch,
            steps=300 if limited else 10_000_000,
        )
        for name, facts, batch in (("v4_128", V4_128, 1024), ("v4_8", V4_8, 64))
        for n in (1, 2, 4)
        for limited in (False, True)
    ),
    *(
        c4(
            f"spmd_22b_adam_{n}xv4_384",
            f"C4Spmd22BAdam{n}xv4_384",
            **V4_384,
            dcn=(n, 1, 1),
            batch=n * 1920,
        )
        for n in (1, 2)
    ),
    *(
        c4(
            f"spmd_32b_adam_{n}xv5_256",
            f"C4Spmd32BAdam{n}xv5_256",
            **V5_256,
            dcn=(n, 1, 1),
            batch=n * 256,
        )
        for n in (1, 2)
    ),
)

GPT3 = (
    gpt3(
        "pipeline_gpt3_small_adam_8replicas",
        "C4SpmdPipelineGpt3SmallAdam8Replicas",
        **SMALL,
        per_core=64,
        ici=(2, 1, 2, 2),
        batch=512,
        parameters=2_926_491_648,
        cadence=(200, 1000, 10, 5),
    ),
    gpt3(
        "pipeline_gpt3_small_adam_64replicas",
        "C4SpmdPipelineGpt3SmallAdam64Replicas",
        **SMALL,
        vocab=50_257,
        per_core=1,
        ici=(4, 1, 4, 4),
        batch=64,
        cadence=(200, 1000, 100, 1),
    ),
    gpt3(
        "gpt3_adam_org_hp_bs1p5k_1536replicas",
        "C4SpmdGpt3AdamOrgHPBS1p5k1536Replicas",
        per_core=1,
        ici=(1, 64, 24),
        batch=1536,
        parameters=174_792_007_680,
        cadence=(100, 100, 25, 1),
    ),
    gpt3(
        "pipeline_gpt3_adam_org_hp_bs1p5k_768replicas",
        "C4SpmdPipelineGpt3AdamOrgHPBS1p5k768Replicas",
        per_core=2,
        ici=(8, 1, 8, 12),
        batch=1536,
        cadence=(50, 100, 25, 1),
    ),
    *(
        gpt3(
            f"pipeline_gpt3_adam_mlperf_hp_bs{size}_{devices}replicas",
            f"C4SpmdPipelineGpt3AdamMLPerfHPBS{size}{devices}Replicas",
            per_core=per_core,
            ici=ici,
            batch=batch,
            cadence=(2 * every, 100, every, 1),
        )
        for size, devices, per_core, ici, batch, every in (
            ("1p5k", 768, 2, (8, 1, 8, 12), 1536, 16),
            ("2k", 512, 4, (8, 1, 8, 8), 2048, 12),
            ("3k", 768, 4, (4, 1, 16, 12), 3072, 8),
            ("4k", 1024, 4, (8, 1, 8, 16), 4096, 6),
            ("8k", 1024, 8, (4, 1, 16, 16), 8192, 3),
        )
    ),
    gpt3(
        "gpt3_l16_adam_org_hp",
        "C4SpmdGpt3L16AdamOrgHP",
        layers=16,
        vocab=50_257,
        per_core=3,
        ici=(1, 16, 4),
        batch=192,
        parameters=29_812_494_336,
        cadence=(100, 10, 25_000, 10),
    ),
    gpt3(
        "gpt_126m_base",
        "GPT126MBase",
        layers=12,
        hidden=768,
        heads=(12, 64),
        vocab=50_304,
        gpt3=2048,
        per_core=4,
        ici=(8, 1, 1),
        dcn=(8, 1, 1),
        batch=256,
        steps=600_000,
        cadence=(5000, 10, 100, 100),
    ),
)

ROWS = (*LM_CLOUD, *C4, *GPT3)

# Tiny twins, and the share of the distance from a uniform guess to the language's
# entropy that they are to have gone.
TINY = (
    "lm_cloud.py:tiny_transformer",
    "lm_cloud.py:tiny_spmd",
    "lm_cloud.py:tiny_pipeline",
    "c4.py:tiny",
    "gpt3.py:tiny",
    "gpt3.py:tiny_pipeline",
)

# (peak, steps of the ramp, first of the decay, last of the decay, shape).
RATES = {
    "lm_cloud.py:lm_cloud_spmd_2b": (2.5e-4, 4000, 4001, 300_000, "exponential"),
    "lm_cloud.py:lm_cloud_transformer_adam_limit_steps": (
        *(1e-3, 4000, 4001, 300_000, "exponential"),
    ),
    "c4.py:spmd_1b_adam_4replicas": (1e-3, 4000, 4001, 300_000, "exponential"),
    "gpt3.py:gpt3_adam_org_hp_bs1p5k_1536replicas": (6e-5, 265, 266, 108_600, "cosine"),
    "gpt3.py:pipeline_gpt3_small_adam_8replicas": (2e-4, 265, 266, 108_600, "cosine"),
    "gpt3.py:pipeline_gpt3_adam_mlperf_hp_bs1p5k_768replicas": (
        *(2e-5, 265, 266, 108_600, "cosine"),
    ),
    "gpt3.py:pipeline_gpt3_adam_mlperf_hp_bs2k_512replicas": (
        *(2e-5, 199, 200, 81_450, "cosine"),
    ),
    "gpt3.py:pipeline_gpt3_adam_mlperf_hp_bs3k_768replicas": (
        *(2e-5, 133, 134, 54_300, "cosine"),
    ),
    "gpt3.py:pipeline_gpt3_adam_mlperf_hp_bs4k_1024replicas": (
        *(3e-5, 100, 101, 40_725, "cosine"),
    ),
    "gpt3.py:pipeline_gpt3_adam_mlperf_hp_bs8k_1024replicas": (
        *(3e-5, 50, 51, 20_363, "cosine"),
    ),
    "gpt3.py:gpt_126m_base": (6e-4, 636, 637, 500_000, "cosine"),
}
