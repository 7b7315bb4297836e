"""A flag that XLA does not know, one with a wrong value, one in the wrong variable."""

from __future__ import annotations

from tests.check.house import experiment

ENVIRONMENT = {
    "XLA_FLAGS": "--xla_force_host_platform_device_cuont=8 "
    "--xla_cpu_enable_fast_math=maybe --xla_tpu_enable_something=true",
    "LIBTPU_INIT_ARGS": "--xla_gpu_autotune_level=4",
    "JAX_XLA_FLAGS": "--xla_dump_to=there",
}


def broken():
    return experiment()
