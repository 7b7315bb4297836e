import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any

import fiddle as fdl
import flax.linen as nn
import jax.numpy as jnp
import optax
from fiddle import selectors
from fiddle.experimental import auto_config

from measures import kernels, tags


class Mlp(nn.Module):
    layers: int
    width: int
    outputs: int | None = None
    dtype: Any = jnp.float32
    param_dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x):
        for _ in range(self.layers):
            x = nn.relu(nn.Dense(self.width, dtype=self.dtype)(x))
        return x if self.outputs is None else nn.Dense(self.outputs)(x)


@dataclasses.dataclass(frozen=True)
class Follow:
    step_size: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Setting:
    seed: int
    world: str
    generator: Annotated[nn.Module, tags.Generator]
    generator_optimizer: Annotated[optax.GradientTransformation, tags.Generator]
    critic: Annotated[nn.Module, tags.Critic]
    critic_optimizer: Annotated[optax.GradientTransformation, tags.Critic]
    dtype: Any
    kernel: Annotated[Any, tags.Kernel]
    adaptive: bool
    distance: Callable[..., Any]
    critic_steps: int
    discount: float
    horizon: int
    samples: int
    updates: int
    follow: Follow

    def __post_init__(self):
        if self.adaptive:
            assert len(self.kernel.bandwidths) == 1, "adaptive: one bandwidth"
        assert 0.0 <= self.discount < 1


@auto_config.auto_config
def base() -> Setting:
    """The setting that the others change."""
    dtype = tags.DType.new(default=jnp.float32)
    return Setting(
        seed=0,
        world="Pendulum",
        generator=Mlp(layers=2, width=16, dtype=dtype, param_dtype=dtype),
        generator_optimizer=optax.adam(
            learning_rate=auto_config.with_tags(
                6.25e-5, (tags.Generator, tags.StepSize)
            ),
            eps=1.5e-4,
        ),
        critic=nn.SpectralNorm(
            Mlp(layers=2, width=16, outputs=8, dtype=dtype, param_dtype=dtype),
            collection_name="spectral",
        ),
        critic_optimizer=optax.adam(
            learning_rate=auto_config.with_tags(6.25e-5, (tags.Critic, tags.StepSize)),
            eps=1.5e-4,
        ),
        dtype=dtype,
        kernel=kernels.Quadratic(bandwidths=(0.2, 0.5, 1.0)),
        adaptive=False,
        distance=kernels.euclidean,
        critic_steps=1,
        discount=0.95,
        horizon=6,
        samples=32,
        updates=2_500_000,
        follow=Follow(step_size=0.01),
    )


@auto_config.auto_config
def again() -> Setting:
    """The base, by way of another function."""
    return base()


def one_step() -> fdl.Config[Setting]:
    """No bootstrapping."""
    config = base.as_buildable()
    config.discount = 0.0
    config.horizon = 1
    return config


def median() -> fdl.Config[Setting]:
    config = base.as_buildable()
    config.kernel = fdl.Config(kernels.Gaussian, bandwidths=(1,))
    config.adaptive = True
    config.critic_steps = 0
    config.critic_optimizer = fdl.Config(optax.identity)
    return config


def kernel_of(
    config: fdl.Config[Setting],
    kind: Callable[..., Any],
    bandwidths: tuple[float, ...],
) -> None:
    """Another kernel, wherever there is one."""
    selectors.select(config, tag=tags.Kernel).replace(
        fdl.Config(kind, bandwidths=bandwidths)
    )


gaussian = functools.partial(kernel_of, kind=kernels.Gaussian, bandwidths=(1.0,))


def energy(config: fdl.Config[Setting], power: float = 1.5) -> None:
    """The energy distance has no kernel of its own."""
    config.kernel = fdl.Config(kernels.Negated)
    config.distance = fdl.Partial(kernels.powered, power=power)


def adamw_everywhere(config: fdl.Config[Setting]) -> None:
    """AdamW in place of every Adam."""
    for node in selectors.select(config, optax.adam):
        fdl.update_callable(node, optax.adamw)


def plain_critic(config: fdl.Config[Setting]) -> None:
    config.critic = fdl.Config(
        Mlp, layers=3, width=8, outputs=8, dtype=config.dtype, param_dtype=config.dtype
    )
