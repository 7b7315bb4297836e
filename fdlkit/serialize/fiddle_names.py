"""Public names for what Fiddle's JSON calls by the module that defines it.

Fiddle writes `optax._src.alias:adamw`, a module that no one should import and that may
be another one in the next release. Only names that are listed are translated, and only
from the modules below, so that `show` and `diff` need to import nothing for it.
"""

from __future__ import annotations

from fdlkit.graph.model import Symbol
from fdlkit.serialize.allowed import NAMES

# By a module of which names are listed: the modules that define them.
_DEFINED_IN = {
    "fiddle.experimental.dict_config": "fiddle._src.experimental.dict_config",
    "flax.linen": """
        flax.linen.activation flax.linen.attention flax.linen.combinators
        flax.linen.initializers flax.linen.linear flax.linen.normalization
        flax.linen.pooling flax.linen.recurrent flax.linen.stochastic
    """,
    "jax.lax": "jax._src.lax.lax",
    "jax.nn": "jax._src.nn.functions jax._src.ops.special",
    "optax": """
        optax._src.alias optax._src.base optax._src.factorized optax._src.lookahead
        optax._src.transform optax.losses._classification optax.losses._regression
        optax.losses._self_supervised optax.losses._smoothing optax.schedules._inject
        optax.schedules._join optax.schedules._schedule optax.transforms._accumulation
        optax.transforms._adding optax.transforms._clipping optax.transforms._combining
        optax.transforms._conditionality optax.transforms._constraining
        optax.transforms._freezing optax.transforms._masking
    """,
    "optax.losses": """
        optax.losses._classification optax.losses._fenchel_young optax.losses._ranking
        optax.losses._self_supervised
    """,
    "pathlib": "pathlib._local",
}

# The other way round: the modules that publish what one defines, in their order.
PUBLISHED: dict[str, list[str]] = {}
for _public, _modules in _DEFINED_IN.items():
    for _module in _modules.split():
        PUBLISHED.setdefault(_module, []).append(_public)


def public(module: str, qualname: str) -> Symbol:
    """The listed name for what a module defines; the name as it is if there is none."""
    for published in PUBLISHED.get(module, ()):
        if qualname in NAMES[published]:
            return Symbol(published, qualname)
    return Symbol(module, qualname)
